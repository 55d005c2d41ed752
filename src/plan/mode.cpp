#include "plan/mode.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "plan/cut.h"

namespace cleave::plan {
namespace {

// The first and the last slice are on the program's queue; with two there is nothing left to distribute.
constexpr std::size_t kMinPipelinedSlices = 3;

// The end of a slice is long if its work-groups take very different times; one more slice is then not enough to fill
// the device. With this many queues that matters little (docs/measurements.md), and this many times what fills the
// device may be in flight for it.
constexpr std::size_t kQueuesForUnevenGroups = 4;
constexpr std::size_t kMaxTimesFilled = 10;

// More slices than this have no benefit, however short the quantum.
constexpr double kMaxSlicesInQuantum = 100'000;

constexpr int kMaxRounds = 12;

// If bands are cut into different numbers of slices, the first or the last band has the largest.
std::size_t items_of_largest_slice(const Cut& cut) {
  return std::max(items(cut.slice(0).global), items(cut.slice(cut.count() - 1).global));
}

std::size_t groups_per_slice(const NDRange& range, std::size_t slices) {
  return std::max<std::size_t>(1, range.total_groups() / slices);
}

}  // namespace

const char* name(SingleQueueReason why) {
  static constexpr std::array<const char*, kSingleQueueReasons> kNames = {
      "device", "communicates", "few", "pending", "queue", "busy", "refused"};
  return kNames[static_cast<std::size_t>(why)];
}

unsigned queues_to_fill(const Device& device, const NDRange& range, std::size_t slices) {
  assert(slices >= 2);
  const std::size_t resident = groups_resident_at_once(device, range);
  const std::size_t in_a_slice = groups_per_slice(range, slices);
  const std::size_t to_fill = 1 + resident / in_a_slice + (resident % in_a_slice != 0 ? 1 : 0);
  const std::size_t in_flight = std::min(kQueuesForUnevenGroups, kMaxTimesFilled * resident / in_a_slice);
  const std::size_t most = std::min<std::size_t>(device.queues, slices - 1);
  return static_cast<unsigned>(std::max<std::size_t>(2, std::min(most, std::max(to_fill, in_flight))));
}

std::size_t slices_in_quantum(double quanta, const NDRange& range, Order order, const Device& device,
                              bool pipelined) {
  const std::size_t groups = range.total_groups();
  const auto all = static_cast<double>(items(range.global));
  auto slices = static_cast<std::size_t>(std::clamp(std::ceil(quanta), 1.0, kMaxSlicesInQuantum));
  // With few work-groups slices differ in size, and more slices may use more queues, which makes each of them slower.
  // Each round comes closer.
  for (int round = 0; slices > 1 && slices < groups && round < kMaxRounds; ++round) {
    const bool several = pipelined && slices >= kMinPipelinedSlices;
    const unsigned queues = several ? queues_to_fill(device, range, slices) : 1;
    const auto longest = static_cast<double>(items_of_largest_slice(Cut(range, slices, order)));
    const double excess = quanta * queues * longest / all;
    if (excess <= 1) break;
    const double enough = std::ceil(static_cast<double>(slices) * excess);
    slices = static_cast<std::size_t>(std::min(enough, kMaxSlicesInQuantum));
  }
  return std::max<std::size_t>(1, std::min(slices, groups));
}

LaunchMethod choose_method(base::LaunchMode requested, const Kernel& kernel, const Device& device,
                           const NDRange& range, std::size_t slices, const LaunchConditions& conditions) {
  using Wanted = base::LaunchMode;
  if (requested == Wanted::queued) return {};
  if (requested == Wanted::sequential) {
    // Waiting within the call is safe only if no command before it can be waiting for the program, and if the kernel
    // itself cannot.
    const bool can_wait = !kernel.may_wait && !conditions.user_event_pending && !conditions.pacing_stalls &&
                          !conditions.in_callback;
    return {can_wait ? Mode::sequential : Mode::queued, 1, std::nullopt};
  }
  if (requested == Wanted::automatic && !device.gains_from_pipelining)
    return LaunchMethod::queue(SingleQueueReason::device);
  if (needs_order(kernel)) return LaunchMethod::queue(SingleQueueReason::communicates);
  if (slices < kMinPipelinedSlices) return LaunchMethod::queue(SingleQueueReason::few);
  if (conditions.user_event_pending) return LaunchMethod::queue(SingleQueueReason::pending);
  if (!conditions.can_add_queues) return LaunchMethod::queue(SingleQueueReason::queue);
  return LaunchMethod::pipeline(queues_to_fill(device, range, slices));
}

}  // namespace cleave::plan
