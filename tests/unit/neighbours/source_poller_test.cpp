// The thread that follows neighbours, in a program that closes its descriptors.
#include "neighbours/source_poller.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <dirent.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/files/file_descriptor.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

std::atomic<unsigned> steps{0};

// Counts its steps, and wants none soon.
class IdleSource : public Source {
 public:
  [[nodiscard]] std::string name() const override { return "idle"; }
  [[nodiscard]] std::string endpoint() const override { return {}; }
  [[nodiscard]] std::string state() const override { return {}; }
  [[nodiscard]] std::optional<TimedCount> last_count() const override { return std::nullopt; }
  [[nodiscard]] WakeCondition wake_condition() const override {
    return {-1, 0, base::Clock::system().now() + 20ms};
  }
  void step(base::Nanoseconds) override { ++steps; }
  [[nodiscard]] bool first_answer_known() const override { return true; }
};

std::set<int> descriptors() {
  std::set<int> numbers;
  DIR* const list = opendir("/proc/self/fd");
  while (const dirent* const each = readdir(list)) {
    const int number = std::atoi(each->d_name);
    if (each->d_name[0] != '.' && number != dirfd(list)) numbers.insert(number);
  }
  closedir(list);
  return numbers;
}

// A step follows about every 20 ms, however many a thread that does not sleep would do.
TEST(SourcePoller, SleepsWhateverTheProgramPutsInThePlaceOfItsDescriptors) {
  constexpr std::uint64_t kCount = 7;
  const std::set<int> before = descriptors();
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::make_unique<IdleSource>());
  const auto poller = SourcePoller::start(std::move(sources), {}, {[](unsigned) {}, {}, {}, {}});
  ASSERT_NE(poller, nullptr);
  poller->wait_for_first_answers(10s);
  const base::FileDescriptor own(eventfd(kCount, EFD_CLOEXEC | EFD_NONBLOCK));  // readable
  std::set<int> taken;
  for (const int number : descriptors()) {
    if (before.contains(number) || number == own.get()) continue;
    ASSERT_EQ(dup2(own.get(), number), number);
    taken.insert(number);
  }
  EXPECT_FALSE(taken.empty());
  while (steps < 3) usleep(1000);  // it polls what is there now
  const unsigned first = steps;
  const auto begin = std::chrono::steady_clock::now();
  usleep(200'000);
  const auto periods = (std::chrono::steady_clock::now() - begin) / 20ms;
  EXPECT_LE(steps - first, periods + 2);
  EXPECT_TRUE(poller->stop(10s));
  std::uint64_t count = 0;
  EXPECT_EQ(read(own.get(), &count, sizeof count), 8);
  EXPECT_EQ(count, kCount);
  for (const int number : taken) close(number);
}

}  // namespace
}  // namespace cleave::neighbours
