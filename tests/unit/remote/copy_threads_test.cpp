// Threads that help to copy: completeness, order, faults, fork.
#include "remote/client/link/copy_threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/threads/fork_locks.h"
#include "tests/kit/eventually.h"
#include "tests/kit/threads.h"
#include "tests/unit/remote/noise.h"

namespace cleave::remote::client {
namespace {

using Direction = SharedCopy::Direction;
constexpr std::size_t kPart = kMiB + 4099;

// Copies all of the box by parts of kPart bytes that lie in `shared` one behind the other.
void copy_all(CopyThreads& threads, const Box& box, std::vector<std::byte>& shared, Direction direction) {
  SharedCopy copy(threads, box, direction);
  for (std::size_t at = 0; at < box.bytes() || copy.parts() != 0;) {
    if (copy.is_first_copied()) {
      copy.remove_first();
    } else if (at < box.bytes() && copy.parts() < SharedCopy::kMostParts) {
      const std::size_t now = std::min(kPart, box.bytes() - at);
      copy.add({shared.data() + at, at, now});
      at += now;
    } else if (!copy.copy_block()) {
      copy.await_first();
    }
  }
}

void round_trip(CopyThreads& threads, std::size_t size, unsigned seed) {
  std::vector<std::byte> data = noise(size, seed);
  std::vector<std::byte> shared(size);
  copy_all(threads, Box::contiguous(data.data(), size), shared, Direction::to_shared);
  EXPECT_TRUE(are_same(shared, data));
  std::vector<std::byte> back(size);
  copy_all(threads, Box::contiguous(back.data(), size), shared, Direction::from_shared);
  EXPECT_TRUE(are_same(back, data));
}

TEST(CopyThreads, CopyAllInBothDirections) {
  for (const unsigned count : {1U, 2U, CopyThreads::kMostThreads}) {
    CopyThreads threads(count);
    for (const std::size_t size : {CopyThreads::kMinBytes - 1, CopyThreads::kMinBytes, 17 * kMiB + 5})
      round_trip(threads, size, count);
  }
}

TEST(CopyThreads, CopyRowsWithGaps) {
  constexpr std::size_t kPitch = 5003;
  constexpr std::size_t kWidth = 4999;
  constexpr std::size_t kRows = 1000;
  CopyThreads threads(3);
  std::vector<std::byte> memory = noise(kPitch * kRows, 1);
  const Box box{memory.data(), kWidth, kRows, 1, kPitch, kPitch * kRows};
  std::vector<std::byte> shared(box.bytes());
  copy_all(threads, box, shared, Direction::to_shared);
  for (std::size_t at = 0; at < shared.size(); ++at) ASSERT_EQ(shared[at], *box.place(at)) << at;
  const std::vector<std::byte> before = memory;
  copy_all(threads, box, shared, Direction::from_shared);
  EXPECT_TRUE(are_same(memory, before)) << "neither rows nor gaps have changed";
}

TEST(CopyThreads, ServeSeveralCopiesAtOnce) {
  CopyThreads threads(3);
  kit::on_threads(7, [&](std::size_t thread) {
    for (unsigned i = 0; i < 5; ++i)
      round_trip(threads, 5 * kMiB + thread * 4096 + i, static_cast<unsigned>(thread) * 10 + i);
  });
}

TEST(CopyThreads, AreAsManyAsTheProcessorsAllow) {
  const CopyThreads automatic;
  EXPECT_EQ(automatic.threads_for(CopyThreads::kMinBytes - 1), 1U);
  EXPECT_GE(automatic.threads_for(CopyThreads::kMinBytes), 1U);
  EXPECT_LE(automatic.threads_for(CopyThreads::kMinBytes), CopyThreads::kMostThreads);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(automatic.threads_for(CopyThreads::kMinBytes), 1U);
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(CopyThreads(3).threads_for(CopyThreads::kMinBytes), 3U);
  EXPECT_EQ(CopyThreads(1000).threads_for(CopyThreads::kMinBytes), CopyThreads::kMostThreads);
}

// Blocks that nobody has taken are not copied, and those that a helper copies are waited for.
TEST(CopyThreads, EndOfACopyLeavesNothingBehind) {
  CopyThreads threads(4);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::byte> data(CopyThreads::kMinBytes);
    std::vector<std::byte> shared(CopyThreads::kMinBytes, std::byte{1});
    {
      SharedCopy copy(threads, Box::contiguous(data.data(), data.size()), Direction::from_shared);
      for (std::size_t at = 0; at < data.size(); at += kMiB) copy.add({shared.data() + at, at, kMiB});
    }
    std::memset(data.data(), 2, data.size());
    EXPECT_EQ(std::memchr(data.data(), 1, data.size()), nullptr) << "written after its end";
  }
  round_trip(threads, CopyThreads::kMinBytes, 1);
}

// A program's handler, which makes the page accessible and notes on which thread it runs.
std::atomic<unsigned> faults{0};
std::atomic<unsigned> faults_elsewhere{0};
pthread_t expected_thread;

void make_accessible(int, siginfo_t* info, void*) {
  faults.fetch_add(1);
  if (pthread_equal(pthread_self(), expected_thread) == 0) faults_elsewhere.fetch_add(1);
  const auto page = reinterpret_cast<std::uintptr_t>(info->si_addr) & ~std::uintptr_t{4095};
  mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE);
}

TEST(CopyThreads, FaultsOfTheProgramsMemoryAreRaisedOnItsOwnThread) {
  constexpr std::size_t kSize = 8 * kMiB;
  CopyThreads threads(4);
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::vector<std::byte> shared = noise(kSize, 3);
  expected_thread = pthread_self();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = &make_accessible;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  for (const int protection : {PROT_NONE, PROT_READ}) {
    faults = 0;
    ASSERT_EQ(mprotect(memory, kSize, protection), 0);
    copy_all(threads, Box::contiguous(memory, kSize), shared, Direction::from_shared);
    EXPECT_EQ(faults.load(), kSize / 4096);
    EXPECT_EQ(std::memcmp(memory, shared.data(), kSize), 0);
  }
  faults = 0;
  ASSERT_EQ(mprotect(memory, kSize, PROT_NONE), 0);
  std::vector<std::byte> out(kSize);
  copy_all(threads, Box::contiguous(memory, kSize), out, Direction::to_shared);
  EXPECT_EQ(faults.load(), kSize / 4096);
  EXPECT_TRUE(are_same(out, shared));
  EXPECT_EQ(faults_elsewhere.load(), 0U);
  sigaction(SIGSEGV, &before, nullptr);
  munmap(memory, kSize);
}

// The SigBlk lines of this process's threads other than the calling one.
std::vector<std::uint64_t> blocked_signals() {
  std::vector<std::uint64_t> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("SigBlk:", 0) == 0) masks.push_back(std::stoull(line.substr(7), nullptr, 16));
    }
  }
  return masks;
}

TEST(CopyThreads, BlockAllSignalsButThoseOfFaults) {
  CopyThreads threads(3);
  round_trip(threads, 5 * kMiB, 1);
  const auto bit = [](int signal) { return std::uint64_t{1} << static_cast<unsigned>(signal - 1); };
  constexpr std::array kOthers{SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1, SIGPROF};
  const auto is_helper = [&](std::uint64_t mask) {
    return (mask & (bit(SIGSEGV) | bit(SIGBUS) | bit(SIGSYS))) == 0 &&
           std::all_of(kOthers.begin(), kOthers.end(), [&](int signal) { return (mask & bit(signal)) != 0; });
  };
  const auto helpers = [&] {
    const auto masks = blocked_signals();
    return std::count_if(masks.begin(), masks.end(), is_helper);
  };
  // One of them may not have run yet. A sanitizer has threads as well.
  EXPECT_TRUE(kit::eventually([&] { return helpers() == 2; })) << helpers();
}

TEST(CopyThreads, ForkedChildStartsItsOwn) {
  CopyThreads threads(3);
  round_trip(threads, 5 * kMiB, 1);
  base::ForkLocks locks;
  locks.add<&CopyThreads::reset_in_child>(base::ForkOrder::copy_threads, threads, threads);
  locks.before_fork();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    locks.after_fork_in_child();
    alarm(60);
    round_trip(threads, 5 * kMiB, 2);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  locks.after_fork_in_parent();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  round_trip(threads, 5 * kMiB, 3);
}

}  // namespace
}  // namespace cleave::remote::client
