#include "plan/decide.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "plan/cut.h"
#include "plan/tag.h"

namespace cleave::plan {
namespace {

// Larger offsets do not reach kernels intact everywhere: NVIDIA keeps 32 bits of them and extends the sign.
constexpr std::size_t kLargestId = std::numeric_limits<std::int32_t>::max();

bool ids_fit(const NDRange& range) {
  for (unsigned d = 0; d < range.dims; ++d) {
    if (range.offset[d] > kLargestId || range.global[d] > kLargestId - range.offset[d]) return false;
  }
  return true;
}

// The most slices, up to `wanted_slices`, with cuts in a single dimension.
std::size_t most_slabs(const NDRange& range, std::size_t wanted_slices) {
  for (unsigned d = range.dims; d-- > 0;) {
    if (range.groups(d) > 1) return std::min(wanted_slices, range.groups(d));
  }
  return 1;
}

// The most slices that can carry a tag; 1 if none can.
std::size_t most_taggable_slices(const NDRange& range, std::size_t wanted_slices, Order order) {
  for (const std::size_t slices : {wanted_slices, most_slabs(range, wanted_slices)}) {
    if (slices > 1 && Tag::of(range, Cut(range, slices, order))) return slices;
  }
  return 1;
}

Decision validate_shape(const NDRange& range, const Cut& cut, bool uneven_accepted) {
  if (!ids_fit(range)) return Decision::unsplit(UnsplitReason::large_ids);
  if (cut.uneven() == Cut::SmallerGroup::alone) return Decision::unsplit(UnsplitReason::shape);
  if (cut.uneven() == Cut::SmallerGroup::shared_slice && !uneven_accepted)
    return Decision::unsplit(UnsplitReason::smaller_groups);
  return Decision::split(cut.count());
}

}  // namespace

UnsplitReason kind_of(UnsplitReason why) {
  if (why >= UnsplitReason::no_tags) return UnsplitReason::driver;
  if (why >= UnsplitReason::local_size) return UnsplitReason::shape;
  if (why >= UnsplitReason::waiting_groups) return UnsplitReason::kernel;
  return why;
}

bool is_lasting(UnsplitReason why) {
  using enum UnsplitReason;
  switch (why) {
    case policy:
    case denied:
    case alone:
    case one_group:
    case small:
    case binary:
    case kernel:
    case resident:
    case untagged_build:
    case no_tags:  // a driver is found to pass tags on when a program is built, from which kernels are made then
      return true;
    default:
      return false;
  }
}

const char* name(UnsplitReason why) {
  static constexpr std::array<const char*, kUnsplitKinds> kNames = {
      "policy",   "denied",    "alone",  "one_group",     "small",  "binary",   "kernel", "shape", "shared",
      "recorded", "measuring", "costly", "below_quantum", "remote", "resident", "calm",   "driver"};
  return kNames[static_cast<std::size_t>(kind_of(why))];
}

std::optional<UnsplitReason> obstacle(const base::Settings& settings, const Kernel& kernel,
                                      const Device& device, std::size_t items) {
  if (items < settings.min_items.value_or(device.cores)) return UnsplitReason::small;
  if (kernel.source == Kernel::Source::unseen) return UnsplitReason::binary;
  if (kernel.source == Kernel::Source::unsplittable) return UnsplitReason::kernel;
  if (kernel.source == Kernel::Source::untaggable) return UnsplitReason::no_tags;
  return std::nullopt;
}

std::size_t alpha_slices(const base::Settings& settings, const Kernel& kernel, const Device& device,
                         unsigned vms) {
  const base::AlphaTable& device_alpha = device.alpha != nullptr ? *device.alpha : settings.alpha;
  return std::size_t{vms} * (kernel.alpha != nullptr ? *kernel.alpha : device_alpha).of(vms);
}

bool may_overlap(base::LaunchMode mode, const Kernel& kernel, const Device& device) {
  using Mode = base::LaunchMode;
  return !needs_order(kernel) &&
         (mode == Mode::pipelined || (mode == Mode::automatic && device.gains_from_pipelining));
}

std::size_t groups_resident_at_once(const Device& device, const NDRange& range) {
  const std::size_t group = items(range.local);
  assert(group != 0);
  return std::max<std::size_t>(1, std::min(device.resident_groups, device.resident_items / group));
}

Decision limit_to_full_device(const base::Settings& settings, const Kernel& kernel, const Device& device,
                              const NDRange& range, std::size_t slices) {
  if (settings.min_items) return Decision::split(slices);
  const std::size_t groups = range.total_groups();
  const std::size_t resident = groups_resident_at_once(device, range);
  if (groups <= resident)
    return Decision::unsplit(groups < 2 ? UnsplitReason::one_group : UnsplitReason::resident);
  const std::size_t side_by_side = may_overlap(settings.launch, kernel, device) ? device.queues : 1;
  // groups × queues / resident, rounded down, without overflow.
  const std::size_t filled = groups / resident * side_by_side + groups % resident * side_by_side / resident;
  return filled < 2 ? Decision::unsplit(UnsplitReason::resident) : Decision::split(std::min(slices, filled));
}

Decision validate_cut(const NDRange& range, const Kernel& kernel, const Device& device, std::size_t slices,
                      bool uneven_accepted) {
  const Order order = order_of(kernel);
  const Cut cut(range, slices, order);
  if (cut.count() < 2) return Decision::unsplit(UnsplitReason::one_group);
  if (kernel.may_wait && range.total_groups() <= device.resident_groups)
    return Decision::unsplit(UnsplitReason::waiting_groups);
  if (kernel.source != Kernel::Source::tagged) return validate_shape(range, cut, uneven_accepted);
  const std::size_t tagged = most_taggable_slices(range, cut.count(), order);
  return tagged > 1 ? validate_shape(range, Cut(range, tagged, order), uneven_accepted)
                    : Decision::unsplit(UnsplitReason::no_room_for_tag);
}

}  // namespace cleave::plan
