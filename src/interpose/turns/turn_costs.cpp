#include "interpose/turns/turn_costs.h"

#include <string>

namespace cleave::interpose {
namespace {

// Of launches with too few slices for them to tell what it takes, one in so many is measured as a whole.
constexpr unsigned kMeasuredWhole = 16;

}  // namespace

learn::SliceAdvice TurnCosts::duration(const CostKeys& keys, std::size_t items) noexcept try {
  if (keys.launch == 0) return {};
  return table_.duration(keys.launch, keys.size_family, static_cast<double>(items),
                         [] { return std::string(); });
} catch (...) {
  return {};
}

void TurnCosts::observe(learn::Key key, std::size_t fineness, base::Nanoseconds time) noexcept try {
  if (key == 0) return;
  table_.observe(key, 1, time);
  if (fineness != 0) table_.observe(fineness_key(key), fineness, time);
} catch (...) {
}

bool TurnCosts::goes_whole(base::Nanoseconds expected, std::size_t slices, const Pace& pace) noexcept {
  const bool is_unknown = expected.count() <= 0;
  if (!is_unknown && expected <= pace.command) return true;
  if (slices >= kMeasuredByCommands) return false;
  if (is_unknown) return true;
  // Mixed, so that it is not the same kernel each time where several take turns.
  const std::uint32_t mixed = unmeasured_.fetch_add(1, std::memory_order_relaxed) * 2654435761U;
  return (mixed >> 16U) % kMeasuredWhole == 0;
}

}  // namespace cleave::interpose
