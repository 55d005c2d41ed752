#include "daemon/service_manager.h"

#include <array>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/files/file_descriptor.h"
#include "base/socket_address.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::daemon {
namespace {

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { unsetenv(name_); }

 private:
  const char* name_;
};

std::string notification_to(const std::string& path) {
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const base::SocketAddress name = base::unix_address(path);
  EXPECT_EQ(::bind(socket.get(), name.get(), name.size), 0);
  const ScopedVariable variable("NOTIFY_SOCKET", path);
  notify("READY=1");
  std::array<char, 100> text{};
  const ssize_t got = ::recv(socket.get(), text.data(), text.size(), MSG_DONTWAIT);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : "";
}

TEST(ServiceManager, IsNotified) {
  const kit::TemporaryFolder folder;
  EXPECT_EQ(notification_to(folder.file("notify")), "READY=1");
  EXPECT_EQ(notification_to("@cleave-notify-" + std::to_string(getpid())), "READY=1");
}

TEST(ServiceManager, MayBeAbsent) {
  notify("READY=1");
  const ScopedVariable variable("NOTIFY_SOCKET", "/no/such/socket");
  notify("READY=1");
  EXPECT_EQ(take_inherited_descriptors(), 0);
  EXPECT_FALSE(watchdog());
}

// In a process of its own, in which nothing has been logged yet.
TEST(ServiceManagerDeathTest, LostNotificationsDoNotBlockAndAreLoggedOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto lose_notifications = [] {
    const kit::TemporaryFolder folder;
    const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const base::SocketAddress name = base::unix_address(folder.file("notify"));
    if (::bind(socket.get(), name.get(), name.size) != 0) std::_Exit(1);
    const ScopedVariable variable("NOTIFY_SOCKET", folder.file("notify"));
    // More than any queue holds; nobody reads it.
    for (int i = 0; i < 10'000; ++i) notify("WATCHDOG=1");
  };
  EXPECT_EXIT((lose_notifications(), std::_Exit(0)), testing::ExitedWithCode(0),
              "^daemon_test: the service manager has not taken WATCHDOG=1: [^\n]*\n$");
}

TEST(ServiceManager, DescriptorsAreTakenOnceAndOnlyByTheAddressee) {
  const std::string us = std::to_string(getpid());
  setenv("LISTEN_PID", us.c_str(), 1);
  setenv("LISTEN_FDS", "2", 1);
  EXPECT_EQ(take_inherited_descriptors(), 2);
  EXPECT_EQ(take_inherited_descriptors(), 0);
  for (const char* count : {"-1", "x", "", "2147483648"}) {
    setenv("LISTEN_PID", us.c_str(), 1);
    setenv("LISTEN_FDS", count, 1);
    EXPECT_EQ(take_inherited_descriptors(), 0) << count;
  }
  setenv("LISTEN_PID", "1", 1);
  setenv("LISTEN_FDS", "2", 1);
  EXPECT_EQ(take_inherited_descriptors(), 0);
}

TEST(ServiceManager, ReadsTheWatchdogInterval) {
  const ScopedVariable time("WATCHDOG_USEC", "30000000");
  EXPECT_EQ(watchdog(), std::chrono::seconds(30));
  const ScopedVariable process("WATCHDOG_PID", std::to_string(getpid() + 1));
  EXPECT_FALSE(watchdog());
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(watchdog(), std::chrono::seconds(30));
  setenv("WATCHDOG_USEC", "0", 1);
  EXPECT_FALSE(watchdog());
}

}  // namespace
}  // namespace cleave::daemon
