// Weight, cap and memory limit of this process as they are now. They change when the settings file does: it is checked
// four times a second at most, by whichever thread calls poll(), and read again when it has changed and two checks
// since have found it unchanged. Of calls of poll_often() within milliseconds of each other, only every eighth reads
// the clock. A file that is empty, or gone, is being rewritten: it changes nothing. Environment variables still take
// precedence, as they were at the start, and the tenant stays that of the start. A file with mistakes changes nothing,
// and a line on standard error says so.
//
// Without a settings file, which /dev/null stands for, too, either costs one load and nothing ever changes.
//
// Thread-safe. Nothing throws but the constructor, for want of memory. A pending cancellation of the thread takes effect later.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/regular_file.h"
#include "base/settings/configuration.h"

namespace cleave::limits {

class LiveLimits {
 public:
  // `configuration` must outlive this.
  explicit LiveLimits(const base::Configuration& configuration);
  LiveLimits(const LiveLimits&) = delete;
  LiveLimits& operator=(const LiveLimits&) = delete;

  // Looks at the file if it is time. Returns whether values have changed by this call.
  bool poll() noexcept { return has_file_ && check(); }
  // The same, for calls as frequent as launches.
  bool poll_often() noexcept {
    if (!has_file_) return false;
    // Not an atomic subtraction: threads at the same time may count as one, which only delays the look.
    const unsigned calls = calls_left_.load(std::memory_order_relaxed);
    if (calls == 0) [[unlikely]]
      return check();
    calls_left_.store(calls - 1, std::memory_order_relaxed);
    return false;
  }
  // Counts changes.
  [[nodiscard]] std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  // In the child of a fork, where a thread that was looking at the file is missing.
  void reset_in_child() noexcept { looking_.store(false, std::memory_order_relaxed); }
  // Whether they may change at all.
  [[nodiscard]] bool may_change() const noexcept { return has_file_; }

  [[nodiscard]] std::string_view tenant() const noexcept { return configuration_.settings.limits.tenant; }
  [[nodiscard]] unsigned weight() const noexcept { return weight_.load(std::memory_order_relaxed); }
  [[nodiscard]] base::Cap cap() const noexcept {
    const std::uint32_t both = cap_.load(std::memory_order_relaxed);
    return {both >> 1U, (both & 1U) != 0};
  }
  // Bytes; 0: no limit.
  [[nodiscard]] std::uint64_t memory() const noexcept { return memory_.load(std::memory_order_relaxed); }

 private:
  bool check() noexcept;
  void skip_calls(std::int64_t now) noexcept;
  bool look();
  bool read_again();
  void take(const base::Settings& settings) noexcept;

  const base::Configuration& configuration_;
  const bool has_file_;
  // Of poll_often():
  std::atomic<unsigned> calls_left_{0};      // that will not look at the clock
  std::atomic<unsigned> calls_skipped_{0};   // that did not, before the latest that did
  std::atomic<std::int64_t> checked_at_{0};  // when that was
  std::atomic<unsigned> weight_{100};
  std::atomic<std::uint32_t> cap_{0};  // permille, shifted; the lowest bit: borrow
  std::atomic<std::uint64_t> memory_{0};
  std::atomic<std::uint32_t> version_{0};
  std::atomic<std::int64_t> looks_at_{0};
  std::atomic<bool> looking_{false};  // guards what follows
  base::FileStamp known_;             // whose contents have been taken, or had a mistake
  base::FileStamp seen_;              // at the last look
};

}  // namespace cleave::limits
