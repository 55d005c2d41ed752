#include "daemon/unix_socket.h"

#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <grp.h>
#include <optional>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>

#include "base/socket_address.h"

namespace cleave::daemon {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw ListenError(what + ": " + std::strerror(error));
}

base::FileDescriptor open_socket() {
  base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) fail("a unix socket cannot be created", errno);
  return socket;
}

void make_folder(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    fail("the folder " + folder.string() + " cannot be created; create it, or name another path", errno);
  }
}

// What the other processes of a daemon that was killed have for ending, too, on a busy machine.
constexpr std::chrono::seconds kTimeToEnd{5};
constexpr std::chrono::milliseconds kRetryPeriod{10};
constexpr const char* kInUse = "another process listens there; stop it, or name another path";

bool is_listened_to(const std::string& path) {
  const base::SocketAddress name = base::unix_address(path);
  const base::FileDescriptor probe = open_socket();
  return ::connect(probe.get(), name.get(), name.size) == 0 || errno != ECONNREFUSED;
}

// Removes the socket of a daemon that has died. Requires the lock, so a process that still listens is no running daemon, but may be a
// process of one that was killed, which is about to end with it.
void remove_stale_socket(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return;
  if (!S_ISSOCK(there.st_mode))
    throw ListenError("a file that is not a socket is there; remove it, or name another path");
  const auto until = std::chrono::steady_clock::now() + kTimeToEnd;
  while (is_listened_to(path)) {
    if (std::chrono::steady_clock::now() >= until) throw ListenError(kInUse);
    std::this_thread::sleep_for(kRetryPeriod);
  }
  if (::unlink(path.c_str()) != 0) fail("the socket of a dead daemon cannot be removed", errno);
}

std::optional<gid_t> group_id(const std::string& group) {
  std::array<char, 16384> text{};
  struct group entry {};
  struct group* found = nullptr;
  if (::getgrnam_r(group.c_str(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return found->gr_gid;
}

void set_owner_and_mode(const std::string& path, const UnixSocketOptions& options) {
  if (!options.group.empty()) {
    const auto group = group_id(options.group);
    if (!group) throw ListenError("there is no group '" + options.group + "' (--socket-group)");
    if (::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
      fail("the socket cannot be given to the group '" + options.group + "' (--socket-group)", errno);
    }
  }
  if (::chmod(path.c_str(), options.mode) != 0) fail("the socket's mode cannot be set", errno);
}

// Files created under this mask are accessible to the owner only, until their mode is set.
class ScopedUmask {
 public:
  ScopedUmask() : before_(::umask(0177)) {}
  ScopedUmask(const ScopedUmask&) = delete;
  ScopedUmask& operator=(const ScopedUmask&) = delete;
  ~ScopedUmask() { ::umask(before_); }

 private:
  mode_t before_;
};

void bind_to_path(const base::FileDescriptor& socket, const std::string& path) {
  const ScopedUmask mask;
  const base::SocketAddress name = base::unix_address(path);
  if (::bind(socket.get(), name.get(), name.size) == 0) return;
  if (errno == EADDRINUSE) throw ListenError(kInUse);
  fail("the socket cannot be created; name another path", errno);
}

}  // namespace

ListeningSocket listen_on_path(const std::string& path, const UnixSocketOptions& options) {
  assert(!path.empty());
  ListeningSocket result;
  result.family = AF_UNIX;
  const bool abstract = path.front() == '@';
  if (!abstract) {
    make_folder(std::filesystem::path(path).parent_path());
    auto lock = SocketLock::take(path);
    if (!lock) throw ListenError(kInUse);
    result.lock = std::move(*lock);
    remove_stale_socket(path);
  }
  result.socket = open_socket();
  bind_to_path(result.socket, path);
  if (!abstract) {
    result.file = SocketFile(path);
    set_owner_and_mode(path, options);
  }
  if (::listen(result.socket.get(), SOMAXCONN) != 0) fail("the socket cannot listen", errno);
  return result;
}

}  // namespace cleave::daemon
