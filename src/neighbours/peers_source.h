// The processes under Cleave on this machine that use a device which this process uses too, this one
// included: for desktops and containers, where the neighbours are no virtual machines. Counted once a second.
//
// Not thread-safe.
#pragma once

#include "neighbours/entry.h"
#include "neighbours/source.h"

namespace cleave::neighbours {

class PeersSource final : public Source {
 public:
  // `entry` is this process's and must outlive the source.
  explicit PeersSource(const Entry& entry) : entry_(entry) {}

  [[nodiscard]] std::string name() const override { return "peers"; }
  [[nodiscard]] std::string place() const override { return entry_.folder(); }
  [[nodiscard]] std::string state() const override { return heard_ ? "counted" : "not counted yet"; }
  [[nodiscard]] std::optional<Heard> heard() const override { return heard_; }
  [[nodiscard]] Wish wish() const override { return {-1, 0, next_}; }
  void step(base::Nanoseconds now) override;
  [[nodiscard]] bool settled() const override { return heard_.has_value(); }

 private:
  const Entry& entry_;
  std::optional<Heard> heard_;
  base::Nanoseconds next_{0};
};

}  // namespace cleave::neighbours
