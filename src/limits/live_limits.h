// Weight, cap and memory limit of this process as they are now. They change when the settings file does: it is looked at again
// four times a second at most, by whichever thread calls poll(), and read again if it has changed. Variables of the environment
// still win, as they were at the start. A file with mistakes changes nothing, and a line on standard error says so.
//
// Without a settings file poll() costs one load and nothing ever changes.
//
// Thread-safe. Nothing throws but the constructor, for want of memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/configuration.h"

namespace cleave::limits {

class LiveLimits {
 public:
  // `configuration` must outlive this.
  explicit LiveLimits(const base::Configuration& configuration);
  LiveLimits(const LiveLimits&) = delete;
  LiveLimits& operator=(const LiveLimits&) = delete;

  // Looks at the file if it is time. Returns whether values have changed by this call.
  bool poll() noexcept { return has_file_ && check(); }
  // Counts changes.
  [[nodiscard]] std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
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
  // Tells one state of the file from another.
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t time = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  bool check() noexcept;
  bool read_again();
  void take(const base::Settings& settings) noexcept;
  [[nodiscard]] Stamp stamp() const noexcept;

  const base::Configuration& configuration_;
  const bool has_file_;
  std::atomic<unsigned> weight_{100};
  std::atomic<std::uint32_t> cap_{0};  // permille, shifted; the lowest bit: borrow
  std::atomic<std::uint64_t> memory_{0};
  std::atomic<std::uint32_t> version_{0};
  std::atomic<std::int64_t> looks_at_{0};
  std::atomic<bool> looking_{false};  // guards what follows
  Stamp known_;
};

}  // namespace cleave::limits
