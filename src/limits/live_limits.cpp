#include "limits/live_limits.h"

#include <ctime>

#include <sys/stat.h>

#include "base/log.h"

namespace cleave::limits {
namespace {

constexpr std::int64_t kPeriod = 250'000'000;

std::int64_t coarse_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

LiveLimits::LiveLimits(const base::Configuration& configuration)
    : configuration_(configuration), has_file_(!configuration.file.empty()), known_(stamp()) {
  take(configuration.settings);
}

void LiveLimits::take(const base::Settings& settings) noexcept {
  weight_ = settings.turns.weight;
  cap_ = settings.limits.cap.permille << 1U | (settings.limits.cap.borrow ? 1U : 0U);
  memory_ = settings.limits.memory;
  ++version_;
}

LiveLimits::Stamp LiveLimits::stamp() const noexcept {
  struct stat status {};
  if (!has_file_ || stat(configuration_.file.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size,
          static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

bool LiveLimits::check() noexcept try {
  const std::int64_t now = coarse_now();
  if (now < looks_at_.load(std::memory_order_relaxed) || looking_.exchange(true, std::memory_order_acquire))
    return false;
  looks_at_.store(now + kPeriod, std::memory_order_relaxed);
  bool changed = false;
  const Stamp found = stamp();
  // A file that is gone is perhaps just being replaced.
  if (found != known_ && found.size >= 0) {
    known_ = found;
    changed = read_again();
  }
  looking_.store(false, std::memory_order_release);
  return changed;
} catch (...) {  // out of memory
  looking_.store(false, std::memory_order_release);
  return false;
}

bool LiveLimits::read_again() {
  // Not the environment of now: the program may be changing it in another thread.
  const base::Configuration read = base::load([this](const char* name) -> const char* {
    if (std::string_view(name) == "CLEAVE_CONFIG") return configuration_.file.c_str();
    for (const base::Configuration::Line& line : configuration_.lines) {
      if (line.variable == name && line.origin == line.variable) return line.value.c_str();
    }
    return nullptr;
  });
  if (!read.problems.empty()) {
    const std::string& problem = read.problems.front();
    base::log_line("the limits stay as they are: " + problem.substr(0, problem.rfind(';')));
    return false;
  }
  take(read.settings);
  return true;
}

}  // namespace cleave::limits
