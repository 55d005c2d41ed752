// What the supervisor sees of its workers' memory.
#include "remote/server/supervisor/worker_memory.h"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace cleave::remote::server {
namespace {

constexpr std::size_t kTaken = std::size_t{64} << 20U;

// The kernel writes the pages: a sanitizer's own memory grows with what the program writes.
void take(int flags, int file = -1) {
  if (::mmap(nullptr, kTaken, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, file, 0) == MAP_FAILED)
    ::_exit(1);
}

// A process that has done `work`, for as long as this object lives, and its children.
class Busy {
 public:
  explicit Busy(const std::function<void()>& work) {
    if (::pipe(ends_) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work();
      if (::write(ends_[1], "d", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ends_[1]);
    char done = 0;
    EXPECT_EQ(::read(ends_[0], &done, 1), 1);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(ends_[0]);
  }
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
  int ends_[2]{-1, -1};
};

// Whichever process pages count for: a worker's code may take them in any way.
TEST(WorkerMemory, EveryKindIsCounted) {
  const Busy none([] {});
  const auto least = memory_of_tree(none.process()) + kTaken * 9 / 10;
  const std::vector<std::function<void()>> ways{
      [] { take(MAP_PRIVATE | MAP_ANONYMOUS); },
      [] { take(MAP_SHARED | MAP_ANONYMOUS); },
      [] {
        const int file = ::memfd_create("taken", MFD_CLOEXEC);
        if (::ftruncate(file, kTaken) != 0) ::_exit(1);
        take(MAP_SHARED, file);
      },
  };
  for (const auto& way : ways) {
    const Busy busy(way);
    EXPECT_GE(memory_of_tree(busy.process()), least);
    EXPECT_GE(own_memory_of_tree(busy.process()), kTaken * 9 / 10);
  }
}

// As drivers' compilers are started.
TEST(WorkerMemory, WhatAForkedChildHasNotWrittenCountsOnce) {
  const auto fork_child = [] {
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
  };
  const Busy none(fork_child);
  const auto of_the_test =
      memory_of_tree(none.process());  // which the processes below share with it, or copy
  const Busy busy([&] {
    take(MAP_PRIVATE | MAP_ANONYMOUS);
    take(MAP_SHARED | MAP_ANONYMOUS);
    fork_child();
  });
  EXPECT_GE(memory_of_tree(busy.process()), 3 * kTaken);
  EXPECT_LT(own_memory_of_tree(busy.process()), 5 * kTaken / 2 + of_the_test);
  EXPECT_GE(own_memory_of_tree(busy.process()), 2 * kTaken * 9 / 10);
}

}  // namespace
}  // namespace cleave::remote::server
