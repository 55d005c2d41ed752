// A source for desktops and containers, where the neighbours are no VMs: counts the processes under Cleave on this
// machine, including this one, that share a device with this one. Counted once a second, or less often where that would
// take more than a small part of a processor. Processes of another user count as at most 32, so that no user can make other
// users' slices much smaller. Where another process publishes this one's entry, that process does the counting.
//
// Not thread-safe.
#pragma once

#include "neighbours/registry_entry.h"
#include "neighbours/source.h"

namespace cleave::neighbours {

class PeersSource final : public Source {
 public:
  // `entry` is this process's and must outlive the source.
  explicit PeersSource(const RegistryEntry& entry) : entry_(entry) {}

  [[nodiscard]] std::string name() const override { return "peers"; }
  [[nodiscard]] std::string endpoint() const override { return entry_.folder(); }
  [[nodiscard]] std::string state() const override { return last_count_ ? "counted" : "not counted yet"; }
  [[nodiscard]] std::optional<TimedCount> last_count() const override { return last_count_; }
  [[nodiscard]] WakeCondition wake_condition() const override { return {-1, 0, next_scan_}; }
  void step(base::Nanoseconds now) override;
  static constexpr unsigned kMaxOfOtherUser = 32;
  [[nodiscard]] bool first_answer_known() const override { return last_count_.has_value(); }

 private:
  void take_count(std::uint64_t by_other, base::Nanoseconds now);

  const RegistryEntry& entry_;
  std::optional<TimedCount> last_count_;
  std::uint64_t by_other_ = 0;  // the latest count of another process
  base::Nanoseconds next_scan_{0};
};

}  // namespace cleave::neighbours
