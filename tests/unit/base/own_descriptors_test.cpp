// What own_descriptors.h promises, in children whose descriptors 0 to 2 and limits are as a program may have them.
#include "base/files/own_descriptors.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "base/files/file_descriptor.h"
#include "base/files/verified_descriptor.h"
#include "base/files/wake_channel.h"

namespace cleave::base {
namespace {

enum class Standard { open, closed };

// Runs `check` in a child and expects it to return an empty text.
template <typename Check>
void expect_in_child(Standard standard, rlim_t limit, Check check) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor from(ends[0]);
  FileDescriptor to(ends[1]);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    closefrom(3 > to.get() ? 3 : to.get() + 1);
    if (standard == Standard::closed) {
      for (int number = 0; number < 3; ++number) close(number);
    }
    const rlimit changed{limit, limit};
    std::string_view problem = setrlimit(RLIMIT_NOFILE, &changed) == 0 ? "" : "no limit";
    if (problem.empty()) problem = check();
    write_all(to.get(), problem);
    _exit(0);
  }
  to.close();
  std::string problem;
  char text[256];
  for (ssize_t got = 0; (got = read(from.get(), text, sizeof text)) > 0;)
    problem.append(text, static_cast<std::size_t>(got));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(problem, "");
}

bool is_closed(int fd) { return fcntl(fd, F_GETFD) < 0; }
bool closes_on_exec(int fd) { return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; }

// Of each kind one.
template <typename Judge>
std::string_view for_each_way(Judge judge) {
  const int file = open_own("/proc/self/comm", O_RDONLY);
  const int folder = open_own("/proc/self", O_RDONLY | O_DIRECTORY);
  const FolderList list = open_folder_list(folder);
  const int all[] = {file,
                     folder,
                     open_own_at(folder, "comm", O_RDONLY),
                     list ? dirfd(list.get()) : -1,
                     duplicate_own(file),
                     open_high([] { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); })};
  for (const int fd : all) {
    if (!judge(fd)) return "not there, or at a number that is the program's";
    if (!closes_on_exec(fd)) return "not closed on exec";
  }
  return "";
}

constexpr rlim_t kUsual = 1024;

TEST(OwnDescriptors, HaveHighNumbersAndAreClosedOnExec) {
  for (const Standard standard : {Standard::open, Standard::closed}) {
    expect_in_child(standard, kUsual, [&]() -> std::string_view {
      const std::string_view problem = for_each_way([](int fd) { return fd >= kLowestDescriptor; });
      if (!problem.empty() || standard == Standard::open) return problem;
      return is_closed(0) && is_closed(1) && is_closed(2) ? "" : "something stays at a standard number";
    });
  }
}

TEST(OwnDescriptors, AreNeverStandardOnesWhateverTheLimit) {
  for (const rlim_t limit : {12, 16, 64, 200, 201, 208}) {
    expect_in_child(Standard::closed, limit,
                    [&]() -> std::string_view { return for_each_way([](int fd) { return fd > 2; }); });
  }
  expect_in_child(Standard::closed, 64,
                  []() -> std::string_view { return for_each_way([](int fd) { return fd >= 48; }); });
}

TEST(OwnDescriptors, WithoutAnotherNumberThereIsNone) {
  expect_in_child(Standard::closed, 3, []() -> std::string_view {
    errno = 0;
    if (open_own("/proc/self/comm", O_RDONLY) >= 0 || errno != EMFILE) return "there is one";
    return is_closed(0) && is_closed(1) && is_closed(2) ? "" : "something stays at a standard number";
  });
}

TEST(OwnDescriptors, NobodyPrintsIntoOneThatIsBeingMade) {
  expect_in_child(Standard::closed, kUsual, []() -> std::string_view {
    bool refused = true;
    int made = -1;
    const int moved = open_high([&] {
      made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      char byte = 0;
      for (int number = 0; number < 3; ++number) {
        errno = 0;
        refused = refused && write(number, &byte, 1) < 0 && errno == EBADF;
        refused = refused && read(number, &byte, 1) < 0 && errno == EBADF;
      }
      return made;
    });
    if (made < 3 || moved < kLowestDescriptor) return "it was at a standard number";
    return refused ? "" : "what is printed meanwhile goes somewhere";
  });
}

TEST(OwnDescriptors, WhatTheProgramPutsThereMeanwhileStays) {
  expect_in_child(Standard::closed, kUsual, []() -> std::string_view {
    const int own = open_high([] {
      dup2(open("/dev/null", O_RDWR), 1);
      return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    });
    if (own < kLowestDescriptor) return "no descriptor";
    return is_closed(0) && !is_closed(1) && is_closed(2) ? "" : "the program's descriptor is gone";
  });
}

TEST(OwnDescriptors, KeepErrnoAndSayWhyThereIsNone) {
  errno = E2BIG;
  const FileDescriptor file(open_own("/proc/self/comm", O_RDONLY));
  EXPECT_EQ(errno, E2BIG);
  EXPECT_EQ(open_own("/nowhere/at/all", O_RDONLY), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(open_folder_list(file.get()), nullptr);
  EXPECT_EQ(errno, ENOTDIR);
}

TEST(VerifiedDescriptor, LeavesAloneWhatTheProgramPutsInItsPlace) {
  VerifiedDescriptor ours;
  ours.open(open("/proc/self/comm", O_RDONLY));
  const int number = ours.get();
  EXPECT_GE(number, kLowestDescriptor);
  EXPECT_TRUE(ours.is_valid());
  close(number);
  EXPECT_FALSE(ours.is_valid());
  ASSERT_EQ(dup2(STDERR_FILENO, number), number);
  EXPECT_FALSE(ours.is_valid());
  ours.close();
  EXPECT_FALSE(is_closed(number));
  close(number);
}

// Every kind that shares one inode with the program's own, by which they would be taken for ours.
TEST(VerifiedDescriptor, RefusesWhatHasNoIdentity) {
  sigset_t none;
  sigemptyset(&none);
  const int all[] = {eventfd(0, EFD_CLOEXEC), timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC),
                     epoll_create1(EPOLL_CLOEXEC), signalfd(-1, &none, SFD_CLOEXEC),
                     inotify_init1(IN_CLOEXEC)};
  for (const int each : all) {
    ASSERT_GE(each, 0);
    VerifiedDescriptor ours;
    ours.adopt(each);
    EXPECT_EQ(ours.get(), -1);
    EXPECT_FALSE(ours.is_valid());
    EXPECT_TRUE(is_closed(each));
  }
}

bool is_readable(int fd) {
  pollfd waited{fd, POLLIN, 0};
  return poll(&waited, 1, 0) == 1;
}

TEST(WakeChannel, IsReadableFromWakeToDrain) {
  WakeChannel channel;
  ASSERT_TRUE(channel.open());
  EXPECT_GE(channel.descriptor(), kLowestDescriptor);
  EXPECT_TRUE(closes_on_exec(channel.descriptor()));
  EXPECT_FALSE(is_readable(channel.descriptor()));
  for (int i = 0; i < 1000; ++i) channel.wake();  // never blocks
  EXPECT_TRUE(is_readable(channel.descriptor()));
  channel.drain();
  EXPECT_FALSE(is_readable(channel.descriptor()));
}

// In a child, which writing to a closed peer could end by a signal. Its descriptors are those that the program closes.
TEST(WakeChannel, LosesEitherEndWithoutASignalAndUsesNothingOfThePrograms) {
  for (const bool loses_receiver : {true, false}) {
    expect_in_child(Standard::open, kUsual, [&]() -> std::string_view {
      WakeChannel channel;
      if (!channel.open()) return "not open";
      const int receiver = channel.descriptor();
      const int sender = receiver == kLowestDescriptor ? kLowestDescriptor + 1 : kLowestDescriptor;
      const int lost = loses_receiver ? receiver : sender;
      close(lost);
      if (channel.is_valid()) return "the loss of an end is not noticed";
      channel.wake();
      const int own = eventfd(7, EFD_CLOEXEC | EFD_NONBLOCK);
      if (dup2(own, lost) != lost) return "the number is not free";
      if (channel.is_valid()) return "the program's is taken for ours";
      channel.wake();
      channel.drain();
      channel.close();
      std::uint64_t count = 0;
      if (read(lost, &count, sizeof count) != sizeof count || count != 7) return "the program's is spoilt";
      return channel.open() && channel.is_valid() && !is_closed(lost) ? "" : "not opened anew";
    });
  }
}

}  // namespace
}  // namespace cleave::base
