#include "plan/mode.h"

#include <algorithm>
#include <array>

namespace cleave::plan {
namespace {

// The first and the last slice are on the program's queue; with two there is nothing left to deal.
constexpr std::size_t kFewestSlices = 3;

std::size_t groups_of_a_slice(const NDRange& range, std::size_t slices) {
  Extent groups{1, 1, 1};
  for (unsigned d = 0; d < range.dims; ++d) groups[d] = range.groups(d);
  return std::max<std::size_t>(1, items(groups) / slices);
}

}  // namespace

const char* name(Queued why) {
  static constexpr std::array<const char*, kQueuedReasons> kNames = {"device", "talks", "few",    "pending",
                                                                     "queue",  "busy",  "refused"};
  return kNames[static_cast<std::size_t>(why)];
}

unsigned queues_to_fill(const Device& device, const NDRange& range, std::size_t slices) {
  const std::size_t group = std::max<std::size_t>(1, items(range.local));
  const std::size_t resident =
      std::max<std::size_t>(1, std::min(device.resident_groups, device.resident_items / group));
  const std::size_t in_a_slice = groups_of_a_slice(range, slices);
  const std::size_t more = resident / in_a_slice + (resident % in_a_slice != 0 ? 1 : 0);
  const std::size_t most = std::min<std::size_t>(device.queues, slices - 1);
  return static_cast<unsigned>(std::max<std::size_t>(2, std::min(most, 1 + more)));
}

Way choose_way(base::LaunchMode wanted, const Kernel& kernel, const Device& device, const NDRange& range,
               std::size_t slices, const Moment& moment) {
  using Wanted = base::LaunchMode;
  if (wanted == Wanted::queued) return {};
  if (wanted == Wanted::sequential) {
    // Waiting inside the call is safe only if nothing upstream can be waiting for the program, and if the
    // kernel itself cannot be.
    const bool may_wait = !kernel.talks && !moment.user_event_pending && !moment.stalls;
    return {may_wait ? Mode::sequential : Mode::queued, 1, std::nullopt};
  }
  if (wanted == Wanted::automatic && !device.prefers_pipelines) return Way::queue(Queued::device);
  if (kernel.talks) return Way::queue(Queued::talks);
  if (slices < kFewestSlices) return Way::queue(Queued::few);
  if (moment.user_event_pending) return Way::queue(Queued::pending);
  if (!moment.has_twins) return Way::queue(Queued::queue);
  return Way::pipeline(queues_to_fill(device, range, slices));
}

}  // namespace cleave::plan
