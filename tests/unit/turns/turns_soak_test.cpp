// Participants that are killed and stopped at random moments, again and again: those that live get their turns.
//
// 10,000 faults take half a minute:
//   CLEAVE_TEST_FAULTS=10000 build/release/tests/turns_file_test --gtest_filter=TurnsSoak.*
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/kit/eventually.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr unsigned kFaultsByDefault = 300;
constexpr std::size_t kProcesses = 8;
constexpr unsigned kTurnsAtTheEnd = 20;
// A stop may be shorter or longer than the lease.
constexpr Ns kLease = 20'000'000;
constexpr auto kLongestStop = 40ms;
constexpr auto kLongestPause = 2ms;

// In memory that the test and its processes share.
struct Progress {
  std::atomic<std::uint64_t> turns{0};
  std::atomic<std::uint64_t> refusals{0};  // turns that could not be waited for
};
using AllProgress = std::array<Progress, kProcesses>;

class SharedProgress {
 public:
  SharedProgress()
      : memory_(
            mmap(nullptr, sizeof(AllProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    new (memory_) AllProgress;
  }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  ~SharedProgress() { munmap(memory_, sizeof(AllProgress)); }
  Progress& operator[](std::size_t i) const { return (*static_cast<AllProgress*>(memory_))[i]; }

 private:
  void* memory_;
};

// One slice after another, as many as it likes; then a rest, with a grace or without.
void use_the_device(const Options& options, unsigned seed, Progress& progress) {
  auto* const member = new Member(options);  // never leaves
  std::mt19937 random(seed);
  const auto up_to = [&](unsigned most) { return random() % (most + 1); };
  for (;;) {
    if (!member->turns.begin()) {
      ++progress.refusals;
      return;
    }
    bool holds = true;
    for (unsigned slices = up_to(6); slices > 0 && holds; --slices) {
      std::this_thread::sleep_for(std::chrono::microseconds(up_to(200)));
      if (member->turns.should_yield()) holds = member->turns.yield();
    }
    if (!holds) ++progress.refusals;
    ++progress.turns;
    member->turns.end(up_to(1) * 300'000);
    if (up_to(3) == 0) std::this_thread::sleep_for(std::chrono::microseconds(up_to(2000)));
  }
}

class Soak {
 public:
  explicit Soak(const Options& options) : options_(options) {
    for (std::size_t i = 0; i < kProcesses; ++i) start(i);
  }

  void inject(unsigned faults) {
    while (faults > 0) {
      continue_those_whose_time_has_come();
      const std::size_t victim = random_() % kProcesses;
      if (!all_[victim].continues_at) {
        random_() % 2 == 0 ? start(victim) : stop(victim);
        --faults;
      }
      std::this_thread::sleep_for(kLongestPause * (random_() % 1000) / 1000);
    }
    for (Process& each : all_) go_on(each);
  }

  // The processes that do not get their turns any more.
  std::vector<std::size_t> stuck() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < kProcesses; ++i) {
      const std::uint64_t before = progress_[i].turns;
      if (!kit::eventually([&] { return progress_[i].turns >= before + kTurnsAtTheEnd; })) all.push_back(i);
    }
    return all;
  }
  std::uint64_t refusals() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kProcesses; ++i) sum += progress_[i].refusals;
    return sum;
  }

 private:
  struct Process {
    std::unique_ptr<OtherProcess> process;
    std::optional<steady_clock::time_point> continues_at;  // stopped until then
  };

  // Kills the one that was there.
  void start(std::size_t i) {
    all_[i].process.reset();
    const unsigned seed = random_();
    all_[i].process = std::make_unique<OtherProcess>(
        [&](const OtherProcess::Say&) { use_the_device(options_, seed, progress_[i]); });
  }
  void stop(std::size_t i) {
    all_[i].process->send(SIGSTOP);
    all_[i].continues_at = steady_clock::now() + kLongestStop * (random_() % 1000) / 1000;
  }
  static void go_on(Process& one) {
    if (one.continues_at) one.process->send(SIGCONT);
    one.continues_at.reset();
  }
  void continue_those_whose_time_has_come() {
    for (Process& each : all_) {
      if (each.continues_at && *each.continues_at <= steady_clock::now()) go_on(each);
    }
  }

  const Options options_;
  SharedProgress progress_;
  std::array<Process, kProcesses> all_;
  std::mt19937 random_{20261123};
};

TEST(TurnsSoak, WhoeverLivesGetsItsTurns) {
  const char* const given = std::getenv("CLEAVE_TEST_FAULTS");
  const kit::TemporaryFolder folder;
  Options options = options_in(folder.path());
  options.timing.lease = kLease;
  Soak soak(options);
  soak.inject(given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : kFaultsByDefault);
  EXPECT_EQ(soak.stuck(), std::vector<std::size_t>{});
  EXPECT_EQ(soak.refusals(), 0U);
}

}  // namespace
}  // namespace cleave::turns
