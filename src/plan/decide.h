// The rules that apply to every launch: which launches must stay unsplit, and whether a launch can be cut into the
// wanted number of slices. Decisions carry their reason. Nothing here calls OpenCL or allocates.
//
// Source: "GPGPU task management ... virtual machines", Algorithm 1. Line 3: a launch with fewer threads than the
// device has cores is not split, nor is any launch of a VM that is alone on its host. Otherwise VMs × α slices.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/settings.h"
#include "plan/cut.h"
#include "plan/ndrange.h"

namespace cleave::plan {

// Why a launch is not split. name() gives what the statistics call it (docs/statistics.md), which is a shorter word for
// some.
enum class UnsplitReason : std::uint8_t {
  policy,         // splitting is off, by choice or because the configuration is invalid
  denied,         // the kernel is on the deny list
  alone,          // this is the only VM of its host
  one_group,      // a single work-group
  small,          // fewer work-items than the device has cores
  binary,         // the kernel does not come from source that Cleave has seen
  kernel,         // the kernel's source may observe the cut, or may wait for other work-groups
  shape,          // the sizes or offsets cannot be cut exactly on this device or queue
  shared,         // another thread was enqueueing on the same in-order queue at that moment
  recorded,       // part of a command buffer
  measuring,      // its unsplit time is being measured
  costly,         // two slices would already exceed the budget
  below_quantum,  // not longer than the quantum
  remote,         // the device belongs to a server, which splits by itself
  resident,       // the device holds (nearly) all its work-groups at once, so slices would not help others
};
inline constexpr std::size_t kUnsplitReasons = 15;
const char* name(UnsplitReason why);

// What is known of a kernel.
struct Kernel {
  enum class Source : std::uint8_t {
    splittable,    // does not observe a cut
    tagged,        // does not observe a cut if slices carry a tag (plan/tag.h)
    unsplittable,  // may observe a cut
    unseen,        // unknown
  };
  Source source = Source::unseen;
  bool denied = false;
  // Work-groups may exchange data through global memory. One may then wait for another, which is valid only if the
  // device holds all of them at once.
  bool communicates = false;
  // The kernel may depend on the local size chosen for a launch that names none.
  bool depends_on_grouping = true;
  unsigned alpha = 0;  // α for this kernel, 0: the device's or the general one
};

// A group that reads results of earlier groups finds them complete only if these are in earlier slices.
inline Order order_of(const Kernel& kernel) { return kernel.communicates ? Order::ascending : Order::any; }

// What is known of a device.
struct Device {
  std::size_t cores = 1;
  std::size_t resident_groups = 1;  // upper bound of the work-groups it can hold at once
  std::size_t resident_items = 1;   // upper bound of the work-items
  unsigned alpha = 0;               // α for this device, 0: the general one
  unsigned queues = 1;  // the most queues for one launch, so that other work still gets in between
  bool gains_from_pipelining = false;  // slices on several queues gain something and are safe
};

// The decision: at least 2 slices, or the reason why the launch is not split.
struct Decision {
  std::size_t slices = 1;
  std::optional<UnsplitReason> unsplit_reason;

  static Decision split(std::size_t slices) { return {slices, std::nullopt}; }
  static Decision unsplit(UnsplitReason why) { return {1, why}; }
};

// Why a launch of `items` work-items cannot be split, whatever its local size; empty if it may be.
std::optional<UnsplitReason> obstacle(const base::Settings& settings, const Kernel& kernel,
                                      const Device& device, std::size_t items);

// VMs × α, with the α of the kernel or else of the device if these have their own. `vms` includes this one.
std::size_t alpha_slices(const base::Settings& settings, const Kernel& kernel, const Device& device,
                         unsigned vms);

// Whether slices may be in flight on several queues (see choose_method in mode.h).
bool may_overlap(base::LaunchMode mode, const Kernel& kernel, const Device& device);

// An upper bound of the work-groups of `range` that the device holds at once. Requires: local sizes are explicit.
std::size_t groups_resident_at_once(const Device& device, const NDRange& range);

// Reduces `slices` to what keeps the device full, that is, the slices in flight at a time (one,
// or one on each of `device.queues`) together hold as many work-groups as the device does. More slices would not be
// shorter, since a work-group takes its time whatever runs beside it. A launch that fits the device as a whole is not
// split: others find room beside it and cannot start earlier. `settings.min_items` disables this rule together with
// the one for small launches. Requires: local sizes are explicit.
Decision limit_to_full_device(const base::Settings& settings, const Kernel& kernel, const Device& device,
                              const NDRange& range, std::size_t slices);

// The most slices that the policy `budget` may choose.
std::size_t max_slices(const base::Settings& settings, unsigned vms);

// Whether `range` can be cut into `slices` slices, or into fewer if only those can carry the tag that the kernel
// needs. `uneven_accepted`: the driver is known to accept launches of this kernel on this device that end in smaller
// work-groups. Requires: local sizes are explicit.
Decision validate_cut(const NDRange& range, const Kernel& kernel, const Device& device, std::size_t slices,
                      bool uneven_accepted);

}  // namespace cleave::plan
