#include "daemon/listening_socket.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/files/file_descriptor.h"
#include "base/socket_address.h"
#include "tests/kit/temporary_folder.h"
#include "tests/unit/monitor/test_client.h"

#include <netinet/in.h>

namespace cleave::daemon {
namespace {

using monitor::TestClient;

base::Address address(const std::string& text) { return base::parse_address(text).value(); }

std::string error_text(const base::Address& where, const UnixSocketOptions& options = {}) {
  try {
    listen_on(where, options);
  } catch (const ListenError& error) {
    return error.what();
  }
  return "";
}

mode_t mode_of(const std::string& path) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 ? there.st_mode & 0777U : 0;
}

class UnixSocket : public testing::Test {
 protected:
  // What a daemon leaves that was killed.
  void leave_dead_socket() const {
    const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    const base::SocketAddress name = base::unix_address(path_);
    ASSERT_EQ(::bind(socket.get(), name.get(), name.size), 0);
    ASSERT_EQ(::listen(socket.get(), 1), 0);
  }

  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.insert(entry.path().filename());
    return names;
  }

  kit::TemporaryFolder folder_;
  std::string path_ = folder_.file("monitor.sock");
  base::Address address_ = address("unix:" + path_);
};

TEST_F(UnixSocket, HasTheRequestedModeDespiteTheUmask) {
  const mode_t before = ::umask(0077);
  const ListeningSocket socket = listen_on(address_, {0622, ""});
  EXPECT_EQ(::umask(before), 0077U);
  EXPECT_EQ(mode_of(path_), 0622U);
  EXPECT_TRUE(TestClient::to(path_).connected());
}

TEST_F(UnixSocket, LeavesNoFileBehind) {
  {
    const ListeningSocket socket = listen_on(address_, {});
    EXPECT_EQ(files(), (std::set<std::string>{"monitor.sock", "monitor.sock.lock"}));
    EXPECT_NE(error_text(address_), "");
    EXPECT_EQ(files().size(), 2U);
  }
  EXPECT_TRUE(files().empty());
  EXPECT_NE(error_text(address_, {0660, "no-such-group"}), "");
  EXPECT_TRUE(files().empty());
}

TEST_F(UnixSocket, LockOfADeadDaemonIsTakenOver) {
  folder_.write("monitor.sock.lock", "");
  const ListeningSocket socket = listen_on(address_, {});
  EXPECT_TRUE(TestClient::to(path_).connected());
}

// A contender that has opened the lock's file before its holder removed it locks a file that nobody else finds.
TEST_F(UnixSocket, LockOnARemovedFileExcludesNobody) {
  std::optional<SocketLock> holder = SocketLock::take(path_);
  ASSERT_TRUE(holder);
  const base::FileDescriptor late(::open((path_ + ".lock").c_str(), O_RDWR | O_CLOEXEC));
  holder.reset();
  ASSERT_EQ(::flock(late.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(SocketLock::take(path_));
}

TEST_F(UnixSocket, LockHasOneHolderAtATime) {
  constexpr int kTurns = 200;
  std::atomic<int> holders{0};
  std::atomic<int> conflicts{0};
  const auto contend = [&] {
    for (int turns = 0; turns < kTurns;) {
      const std::optional<SocketLock> lock = SocketLock::take(path_);
      if (!lock) continue;
      if (++holders != 1) ++conflicts;
      std::this_thread::sleep_for(std::chrono::microseconds(20));  // time for the others to go wrong
      ++turns;
      --holders;
    }
  };
  std::thread second(contend);
  std::thread third(contend);
  contend();
  second.join();
  third.join();
  EXPECT_EQ(conflicts, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(UnixSocket, StaleSocketIsReplaced) {
  leave_dead_socket();
  ASSERT_FALSE(TestClient::to(path_).connected());
  const ListeningSocket socket = listen_on(address_, {});
  EXPECT_TRUE(TestClient::to(path_).connected());
}

TEST_F(UnixSocket, LiveSocketIsNotReplaced) {
  const ListeningSocket first = listen_on(address_, {});
  EXPECT_EQ(error_text(address_), "another process listens there; stop it, or name another path");
  EXPECT_TRUE(TestClient::to(path_).connected());
}

TEST_F(UnixSocket, LiveSocketWithoutALockIsNotReplaced) {
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  const base::SocketAddress name = base::unix_address(path_);
  ASSERT_EQ(::bind(socket.get(), name.get(), name.size), 0);
  ASSERT_EQ(::listen(socket.get(), 5), 0);
  EXPECT_EQ(error_text(address_), "another process listens there; stop it, or name another path");
}

// As a process of a daemon that was killed does, for a moment.
TEST_F(UnixSocket, SocketOfAProcessThatIsAboutToEndIsReplaced) {
  base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  const base::SocketAddress name = base::unix_address(path_);
  ASSERT_EQ(::bind(socket.get(), name.get(), name.size), 0);
  ASSERT_EQ(::listen(socket.get(), 5), 0);
  std::thread end([&] {
    const base::FileDescriptor probe(
        ::accept(socket.get(), nullptr, nullptr));  // by the daemon, which found it
    socket.close();
  });
  const ListeningSocket next = listen_on(address_, {});
  end.join();
  EXPECT_TRUE(TestClient::to(path_).connected());
}

TEST_F(UnixSocket, NonSocketFileIsKept) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(error_text(address_), "a file that is not a socket is there; remove it, or name another path");
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(UnixSocket, CreatesItsFolderInAnExistingParent) {
  const ListeningSocket socket = listen_on(address("unix:" + folder_.file("run/monitor.sock")), {});
  EXPECT_TRUE(TestClient::to(folder_.file("run/monitor.sock")).connected());
  EXPECT_NE(error_text(address("unix:" + folder_.file("a/b/monitor.sock"))), "");
}

TEST_F(UnixSocket, LockOfAnotherUserIsReported) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  folder_.write("monitor.sock.lock", "");
  ASSERT_EQ(::chown((path_ + ".lock").c_str(), 1, 1), 0);
  EXPECT_EQ(error_text(address_), path_ + ".lock belongs to another user; remove it, or name another path");
  EXPECT_EQ(files(), std::set<std::string>{"monitor.sock.lock"});
}

// A pipe without another end would make others wait who open it.
TEST_F(UnixSocket, LockThatIsNoRegularFileDoesNotBlock) {
  const std::string lock = path_ + ".lock";
  ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
  { const ListeningSocket socket = listen_on(address_, {}); }
  ASSERT_EQ(::mkdir(lock.c_str(), 0700), 0);
  EXPECT_NE(error_text(address_).find(lock + " cannot be opened; fix that, or name another path"),
            std::string::npos);
}

// Makes chmod(2) fail in this process with EPERM, whoever its user is.
void refuse_chmod() {
  std::array filter{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
#ifdef SYS_chmod
                    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chmod, 1, 0),
#endif
                    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat, 0, 1),
                    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    std::_Exit(2);
}

TEST_F(UnixSocket, ModeThatCannotBeSetIsFatal) {
  const auto fail_to_listen = [&] {
    refuse_chmod();
    const std::string message = error_text(address_, {0600, ""});
    std::fprintf(stderr, "%s; %zu files are left", message.c_str(), files().size());
  };
  EXPECT_EXIT((fail_to_listen(), std::_Exit(0)), testing::ExitedWithCode(0),
              "^the socket's mode cannot be set: Operation not permitted; 0 files are left$");
}

TEST_F(UnixSocket, UnknownGroupIsReported) {
  EXPECT_NE(error_text(address_, {0660, "no-such-group"}).find("'no-such-group' (--socket-group)"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixSocket, AbstractSocketCreatesNoFile) {
  const std::string name = "@cleave-monitor-test-" + std::to_string(getpid());
  const ListeningSocket socket = listen_on(address("unix:" + name), {});
  EXPECT_TRUE(TestClient::to(name).connected());
  EXPECT_FALSE(std::filesystem::exists(name));
  EXPECT_NE(error_text(address("unix:" + name)), "");
}

TEST(TcpSocket, AddressInUseIsReported) {
  const ListeningSocket first = listen_on(address("tcp:127.0.0.1:0"), {});
  sockaddr_in name{};
  socklen_t size = sizeof name;
  ASSERT_EQ(::getsockname(first.socket.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
  const std::string port = std::to_string(ntohs(name.sin_port));
  EXPECT_EQ(error_text(address("tcp:127.0.0.1:" + port)),
            "another process listens there; stop it, or name another address");
}

TEST(TcpSocket, InvalidAddressIsReported) {
  EXPECT_NE(error_text(address("tcp:192.0.2.1:0")).find("no network of this host"), std::string::npos);
}

TEST(TcpSocket, NamesAreResolvedAndTheBoundAddressIsNumeric) {
  const ListeningSocket socket = listen_on(address("tcp:localhost:0"), {});
  const base::Address bound = bound_address(socket.socket.get());
  EXPECT_TRUE(is_local(bound)) << base::as_text(bound);
  EXPECT_NE(bound.port, 0U);
}

std::string inherited_error(const SocketKind& kind) {
  try {
    check_inherited(3, kind);
  } catch (const ListenError& error) {
    return error.what();
  }
  return "";
}

TEST(InheritedSocket, IsOfAKnownFamily) {
  for (const int family : {AF_UNIX, AF_VSOCK, AF_INET, AF_INET6})
    EXPECT_EQ(inherited_error({family, SOCK_STREAM, true}), "") << family;
  for (const int family : {AF_UNSPEC, AF_TIPC, AF_BLUETOOTH, 43 /* AF_SMC: TCP, and reached as TCP is */}) {
    EXPECT_EQ(inherited_error({family, SOCK_STREAM, true}),
              "descriptor 3 from the service manager is neither a unix nor a vsock nor an IP socket; fix its "
              ".socket unit")
        << family;
  }
}

TEST(InheritedSocket, IsAListeningStreamSocket) {
  for (const SocketKind& kind : {SocketKind{AF_UNIX, SOCK_DGRAM, false},
                                 {AF_INET, SOCK_STREAM, false},
                                 {AF_UNIX, SOCK_SEQPACKET, true},
                                 {}}) {
    EXPECT_EQ(inherited_error(kind),
              "descriptor 3 from the service manager is not a listening stream socket; fix its .socket unit");
  }
}

TEST(AddressScope, WildcardReachesEveryNetwork) {
  for (const char* text : {"tcp:0.0.0.0:1", "tcp:[::]:1", "tcp:[::ffff:0.0.0.0]:1", "tcp:[0::0]:1"}) {
    EXPECT_TRUE(is_wildcard(address(text))) << text;
  }
  for (const char* text : {"tcp:127.0.0.1:1", "tcp:[::1]:1", "tcp:name:1", "vsock:any:1", "unix:/a"}) {
    EXPECT_FALSE(is_wildcard(address(text))) << text;
  }
}

TEST(AddressScope, LoopbackAndUnixAreLocal) {
  for (const char* text : {"tcp:127.0.0.1:1", "tcp:127.9.9.9:1", "tcp:[::1]:1", "unix:/a"}) {
    EXPECT_TRUE(is_local(address(text))) << text;
  }
  for (const char* text :
       {"tcp:192.0.2.1:1", "tcp:0.0.0.0:1", "tcp:[::]:1", "tcp:localhost:1", "vsock:any:1"}) {
    EXPECT_FALSE(is_local(address(text))) << text;
  }
}

}  // namespace
}  // namespace cleave::daemon
