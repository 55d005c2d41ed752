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

#include "base/settings/settings.h"
#include "plan/cut.h"
#include "plan/ndrange.h"

namespace cleave::plan {

// Why a launch is not split. The statistics (docs/statistics.md) count by kind, and name the exact reason with --explain.
enum class UnsplitReason : std::uint8_t {
  policy,         // splitting is off, by choice or because the configuration is invalid
  denied,         // the kernel is on the deny list
  alone,          // this is the only VM of its host
  one_group,      // a single work-group
  small,          // fewer work-items than the device has cores
  binary,         // the kernel does not come from source that Cleave has seen
  kernel,         // the kernel's source may observe the cut, or may wait for other work-groups
  shape,          // its last, smaller work-groups would be a slice of their own
  shared,         // another thread was enqueueing on the same in-order queue at that moment
  recorded,       // part of a command buffer
  measuring,      // its unsplit time is being measured
  costly,         // two slices would already exceed the budget
  below_quantum,  // not longer than the quantum, or shorter than two of the policy's shortest slices
  remote,         // the device belongs to a server, which splits by itself
  resident,       // the device holds (nearly) all its work-groups at once, so slices would not help others
  calm,           // the neighbours do not lack the processor
  driver,         // the driver refused its first slice
  // Other reasons of the kind `kernel`:
  waiting_groups,  // its work-groups may wait for each other, and the device may hold them all at once
  untagged_build,  // its program has no prelude for this device
  // Of the kind `shape`:
  local_size,        // it names no local size, and none can be chosen that the kernel does not notice
  large_ids,         // its ids have more than 31 bits
  smaller_groups,    // it is not known yet whether the driver accepts its smaller last work-groups
  no_room_for_tag,   // its sizes or offsets do not fit a tag
  queue_properties,  // the queue's properties are unknown, or a vendor's own
  // Of the kind `driver`, limits of the driver's:
  no_tags,          // it does not pass tags on
  mixed_offsets,    // it crashes on launches with and without an offset at a time
  racing_offsets,   // the same, with more than two queues or on one that is out of order
  late_failure,     // it crashes if a command fails late, as it may while a user event is pending
  shared_failure,   // it goes wrong if what several commands wait for fails, and the wait list may fail
  variable_copies,  // it gives launches with an offset other copies of the program's variables
};
inline constexpr std::size_t kUnsplitKinds = 17;  // the first ones are kinds
inline constexpr std::size_t kUnsplitReasons = 30;
UnsplitReason kind_of(UnsplitReason why);
// Whether a launch that stays unsplit for this reason does so whenever it is made again: with the same sizes, from the same kernel, on
// the same queue and with as many VMs, until some kernel or queue is created or released.
bool is_lasting(UnsplitReason why);
// What the statistics call its kind.
const char* name(UnsplitReason why);

// What is known of a kernel. Small, since each launch copies it.
struct Kernel {
  enum class Source : std::uint8_t {
    splittable,    // does not observe a cut
    tagged,        // does not observe a cut if slices carry a tag (plan/tag.h)
    unsplittable,  // may observe a cut
    untaggable,    // the same, but only since its driver is known not to pass tags on
    unseen,        // unknown
  };
  Source source = Source::unseen;
  bool denied = false;
  // Work-groups may exchange data through global memory.
  bool communicates = false;
  // One may then wait for another, which is valid only if the device holds all of them at once, or for the host.
  bool may_wait = false;
  // Work-groups may read or overwrite what others store by plain accesses, without waiting for it.
  bool shares_stores = false;
  // The kernel may depend on the local size chosen for a launch that names none.
  bool depends_on_grouping = true;
  // α for this kernel, in the settings; null: the device's or the general one.
  const base::AlphaTable* alpha = nullptr;
};

// A group that reads results of earlier groups finds them complete only if these are in earlier slices.
inline bool needs_order(const Kernel& kernel) { return kernel.communicates || kernel.shares_stores; }
inline Order order_of(const Kernel& kernel) { return needs_order(kernel) ? Order::ascending : Order::any; }

// What is known of a device.
struct Device {
  std::size_t cores = 1;
  std::size_t resident_groups = 1;          // upper bound of the work-groups it can hold at once
  std::size_t resident_items = 1;           // upper bound of the work-items
  const base::AlphaTable* alpha = nullptr;  // α for this device, in the settings; null: the general one
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

// VMs × α, with the α for that number of VMs, of the kernel or else of the device if these have their own. `vms` includes this
// one.
std::size_t alpha_slices(const base::Settings& settings, const Kernel& kernel, const Device& device,
                         unsigned vms);

// Whether slices may be in flight on several queues (see choose_method in mode.h).
bool may_overlap(base::LaunchMode mode, const Kernel& kernel, const Device& device);

// An upper bound of the work-groups of `range` that the device holds at once. Requires: local sizes are explicit.
std::size_t groups_resident_at_once(const Device& device, const NDRange& range);

// Reduces `slices` to what keeps the device full, that is, the slices in flight at a time (one, or one on each of
// `device.queues`) together hold as many work-groups as the device does. More slices would not be shorter, since a
// work-group takes its time whatever runs alongside it. A launch that fits on the device as a whole is not split:
// slices would not let others start earlier. `settings.min_items` disables this rule together with the one for small
// launches. Requires: local sizes are explicit.
Decision limit_to_full_device(const base::Settings& settings, const Kernel& kernel, const Device& device,
                              const NDRange& range, std::size_t slices);

// The most slices that the policies `budget` and `pressure` may choose: 100 for each VM, where a slice costs little and there are many
// neighbours to let in, is far beyond any alpha that pays.
constexpr std::size_t max_slices(unsigned vms) { return std::size_t{vms} * 100; }

// Whether `range` can be cut into `slices` slices, or into fewer if only those can carry the tag that the kernel
// needs. `uneven_accepted`: the driver is known to accept launches of this kernel on this device that end in smaller
// work-groups. Requires: local sizes are explicit.
Decision validate_cut(const NDRange& range, const Kernel& kernel, const Device& device, std::size_t slices,
                      bool uneven_accepted);

}  // namespace cleave::plan
