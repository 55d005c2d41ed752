#include "limits/live_limits.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/log.h"
#include "base/threads/scoped_thread_state.h"

namespace cleave::limits {
namespace {

constexpr std::int64_t kPeriod = 250'000'000;
// Of calls that follow each other so fast only every eighth looks at the clock. Should they become rare, that is seen with the eighth.
constexpr std::int64_t kOften = 10'000'000;
constexpr unsigned kMostCallsSkipped = 7;

std::int64_t coarse_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

LiveLimits::LiveLimits(const base::Configuration& configuration)
    : configuration_(configuration),
      has_file_(!configuration.file.empty() && configuration.file != "/dev/null"),
      known_(configuration.stamp),
      seen_(configuration.stamp) {
  take(configuration.settings);
}

void LiveLimits::take(const base::Settings& settings) noexcept {
  weight_ = settings.turns.weight;
  cap_ = settings.limits.cap.permille << 1U | (settings.limits.cap.borrow ? 1U : 0U);
  memory_ = settings.limits.memory;
  ++version_;
}

// The faster they come, the more: at first none, then always twice as many and one, up to the most.
void LiveLimits::skip_calls(std::int64_t now) noexcept {
  const std::int64_t before = checked_at_.exchange(now, std::memory_order_relaxed);
  const unsigned skipped = calls_skipped_.load(std::memory_order_relaxed);
  const unsigned next = now - before < kOften ? std::min(2 * skipped + 1, kMostCallsSkipped) : 0;
  calls_skipped_.store(next, std::memory_order_relaxed);
  calls_left_.store(next, std::memory_order_relaxed);
}

bool LiveLimits::check() noexcept try {
  const std::int64_t now = coarse_now();
  skip_calls(now);
  if (now < looks_at_.load(std::memory_order_relaxed) || looking_.exchange(true, std::memory_order_acquire))
    return false;
  const base::ScopedCancelDisable uncancelled;  // of the program's thread
  looks_at_.store(now + kPeriod, std::memory_order_relaxed);
  const bool changed = look();
  looking_.store(false, std::memory_order_release);
  return changed;
} catch (...) {  // out of memory
  looking_.store(false, std::memory_order_release);
  return false;
}

// Many write a file in place: it is empty for a moment, and then has a part of its contents.
bool LiveLimits::look() {
  const base::FileStamp found = base::stamp_of(configuration_.file);
  const bool has_settled = std::exchange(seen_, found) == found;
  return has_settled && found != known_ && found.size > 0 && read_again();
}

bool LiveLimits::read_again() {
  // Not the environment of now: the program may be changing it in another thread.
  const base::Configuration read = base::load(
      [this](const char* name) -> const char* {
        if (std::string_view(name) == "CLEAVE_CONFIG") return configuration_.file.c_str();
        for (const base::Configuration::Line& line : configuration_.lines) {
          if (line.variable == name && line.origin == line.variable) return line.value.c_str();
        }
        return nullptr;
      },
      tenant(), configuration_.program);
  // Not if it has changed in between.
  if (read.stamp != seen_ || base::stamp_of(configuration_.file) != seen_) return false;
  known_ = seen_;
  if (!read.problems.empty()) {
    const std::string& problem = read.problems.front();
    base::log_line("the limits stay as they are: " + problem.substr(0, problem.rfind(';')));
    return false;
  }
  take(read.settings);
  return true;
}

}  // namespace cleave::limits
