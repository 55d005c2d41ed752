#include "daemon/service_manager.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include <sys/socket.h>

#include "base/files/file_descriptor.h"
#include "base/socket_address.h"
#include "base/text/number.h"
#include "daemon/log.h"

namespace cleave::daemon {
namespace {

std::optional<std::uint64_t> number_in(const char* variable, std::uint64_t most) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::nullopt : base::parse_unsigned(text, 0, most);
}

// A variable may have been meant for the process that started this one.
bool names_this_process(const char* variable) {
  return number_in(variable, INT_MAX) == static_cast<std::uint64_t>(getpid());
}

}  // namespace

void notify(std::string_view state) noexcept try {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (*path != '/' && *path != '@')) return;
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const base::SocketAddress name = base::unix_address(path);
  if (::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL, name.get(), name.size) >= 0) return;
  const int error = errno;
  static std::atomic<bool> logged{false};
  if (logged.exchange(true)) return;
  log_line(program_invocation_short_name,
           "the service manager has not taken " + std::string(state) + ": " + std::strerror(error));
} catch (...) {  // no memory for the name
}

int take_inherited_descriptors() {
  constexpr int kMax = 1024;
  const bool ours = names_this_process("LISTEN_PID");
  const auto count = number_in("LISTEN_FDS", kMax);
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(variable);
  return ours && count ? static_cast<int>(*count) : 0;
}

std::string runtime_folder() {
  const char* const folders = std::getenv("RUNTIME_DIRECTORY");
  const std::string_view text = folders != nullptr ? folders : "";
  return std::string(text.substr(0, text.find(':')));
}

std::optional<std::chrono::microseconds> watchdog() {
  if (std::getenv("WATCHDOG_PID") != nullptr && !names_this_process("WATCHDOG_PID")) return std::nullopt;
  constexpr std::uint64_t kMax = UINT32_MAX * std::uint64_t{1'000'000};
  const auto microseconds = number_in("WATCHDOG_USEC", kMax);
  if (!microseconds || *microseconds == 0) return std::nullopt;
  return std::chrono::microseconds(*microseconds);
}

}  // namespace cleave::daemon
