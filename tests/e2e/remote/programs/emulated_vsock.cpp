// Preloaded: emulates the kernel's vsock, for kernels that have none, or no loopback. Its sockets are unix sockets whose
// names begin with CLEAVE_EMULATED_VSOCK; the only machine has the number 1. Without that variable it emulates a kernel
// without vsock.
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <string_view>

#include <linux/vm_sockets.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace {

constexpr unsigned kLoopback = 1;

template <typename Function>
Function* next(Function* /*like*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct UnixName {
  sockaddr_un name{};
  socklen_t size = 0;
};

// The name of the socket for that port.
UnixName name_of(unsigned port) {
  const std::string text = std::getenv("CLEAVE_EMULATED_VSOCK") + ("-" + std::to_string(port));
  UnixName name;
  name.name.sun_family = AF_UNIX;
  text.copy(name.name.sun_path + 1, sizeof name.name.sun_path - 1);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

bool is_ours(int socket) {
  const char* const beginning = std::getenv("CLEAVE_EMULATED_VSOCK");
  sockaddr_un name{};
  socklen_t size = sizeof name;
  return beginning != nullptr && getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) == 0 &&
         name.sun_family == AF_UNIX && name.sun_path[0] == '\0' &&
         std::string_view(name.sun_path + 1, sizeof name.sun_path - 1).starts_with(beginning);
}

int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

// The program has to find these before the C library's.
#pragma GCC visibility push(default)
extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  if (domain == AF_VSOCK && std::getenv("CLEAVE_EMULATED_VSOCK") == nullptr) return fail(EAFNOSUPPORT);
  return next(&socket, "socket")(domain == AF_VSOCK ? AF_UNIX : domain, type, protocol);
}

int bind(int socket, const sockaddr* address, socklen_t size) noexcept {
  const auto real = next(&bind, "bind");
  if (address->sa_family != AF_VSOCK) return real(socket, address, size);
  const auto& vm = *reinterpret_cast<const sockaddr_vm*>(address);
  if (size < sizeof vm) return fail(EINVAL);
  if (vm.svm_cid != VMADDR_CID_ANY && vm.svm_cid != kLoopback) return fail(EADDRNOTAVAIL);
  const UnixName name = name_of(vm.svm_port);
  return real(socket, reinterpret_cast<const sockaddr*>(&name.name), name.size);
}

int connect(int socket, const sockaddr* address, socklen_t size) {
  const auto real = next(&connect, "connect");
  if (address->sa_family != AF_VSOCK) return real(socket, address, size);
  const auto& vm = *reinterpret_cast<const sockaddr_vm*>(address);
  if (size < sizeof vm) return fail(EINVAL);
  if (vm.svm_cid != kLoopback) return fail(ENODEV);
  const UnixName name = name_of(vm.svm_port);
  const int result = real(socket, reinterpret_cast<const sockaddr*>(&name.name), name.size);
  return result != 0 && errno == ECONNREFUSED ? fail(ECONNRESET) : result;
}

int getpeername(int socket, sockaddr* address, socklen_t* size) noexcept {
  if (!is_ours(socket)) return next(&getpeername, "getpeername")(socket, address, size);
  sockaddr_vm vm{};
  vm.svm_family = AF_VSOCK;
  vm.svm_cid = kLoopback;
  vm.svm_port = 1024;
  std::memcpy(address, &vm, *size < sizeof vm ? *size : sizeof vm);
  *size = sizeof vm;
  return 0;
}
}
#pragma GCC visibility pop
