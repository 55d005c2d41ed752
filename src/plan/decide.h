// Whether a launch is split, and into how many slices: Algorithm 1 and the rules around it. Decisions return
// a value that says why; nothing here calls OpenCL or allocates.
//
// Source: "GPGPU task management ... virtual machines", Algorithm 1. Line 3: a launch of fewer threads than
// the device has cores stays whole; so does every launch of a VM that is alone on its host. Otherwise VMs × α
// slices.
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

// Why a launch stays whole. The names are those of the statistics (docs/statistics.md).
enum class UnsplitReason : std::uint8_t {
  policy,     // splitting is off, by choice or because the configuration is not sound
  denied,     // the kernel is on the deny list
  alone,      // this is the only VM of its host
  one_group,  // there is no boundary to cut at
  small,      // fewer work-items than the device has cores
  binary,     // the kernel does not come from source that Cleave has seen
  kernel,     // the kernel's source may see the cut, or may wait for other work-groups
  shape,      // the launch's sizes or offsets cannot be cut exactly on this device or queue
  shared,     // another thread was enqueueing on the same in-order queue at that moment
  recorded,   // part of a command buffer
  measuring,  // its time in one piece is being measured
  costly,     // two slices would already cost more than the budget
  brief,      // it is no longer than the quantum
  remote,     // the device is a server's, which splits itself
  held,       // the device holds all its work-groups at once, or nearly: slices would gain nobody anything
};
inline constexpr std::size_t kUnsplitReasons = 15;
const char* name(UnsplitReason why);

// What is known of a kernel.
struct Kernel {
  enum class Source : std::uint8_t {
    splittable,    // does not notice a cut
    tagged,        // does not notice a cut in slices that carry a tag (plan/tag.h)
    unsplittable,  // may notice a cut
    unseen,        // nothing is known of it
  };
  Source source = Source::unseen;
  bool denied = false;
  // Its work-groups may exchange data through global memory: one may then wait for another, which is valid
  // only if the device holds all of them at once.
  bool talks = false;
  // It may depend on which local size a launch gets that names none.
  bool sees_groups = true;
  unsigned alpha = 0;  // α for this kernel, 0: the device's or the general one
};

// In which order the work-groups of its slices must run: a group that may look back at earlier ones finds
// them done only if they are in slices before its own.
inline Order order_of(const Kernel& kernel) { return kernel.talks ? Order::ascending : Order::any; }

// What is known of a device.
struct Device {
  std::size_t cores = 1;
  std::size_t resident_groups = 1;  // an upper bound of the work-groups it can hold at once
  std::size_t resident_items = 1;   // and of the work-items
  unsigned alpha = 0;               // α for this device, 0: the general one
  unsigned queues = 1;  // on so many a launch may be at a time, so that others still get in between
  bool gains_from_pipelining =
      false;  // slices on several queues gain something, and nothing speaks against them
};

// The answer: so many slices (at least 2), or whole and why.
struct Decision {
  std::size_t slices = 1;
  std::optional<UnsplitReason> unsplit_reason;

  static Decision split(std::size_t slices) { return {slices, std::nullopt}; }
  static Decision unsplit(UnsplitReason why) { return {1, why}; }
};

// How many slices are wanted for a launch of `items` work-items, with `vms` virtual machines on the host,
// this one included. Does not look at work-groups, so that it can be asked before the local size is known.
// With a policy that learns, the number holds for launches of which nothing is known.
Decision wanted_slices(const base::Settings& settings, const Kernel& kernel, const Device& device,
                       std::size_t items, unsigned vms);

// An upper bound of the work-groups of `range`, whose local sizes are explicit, that the device holds at
// once.
std::size_t groups_resident_at_once(const Device& device, const NDRange& range);

// How many of the `slices` wanted under the policy `alpha` leave the device full: those that may be under way
// at a time (one, or one on each of `device.queues`) hold as many work-groups together as it does. More would
// each take as long as a larger slice does, since a work-group takes its time whatever runs beside it. A
// launch that the device holds as a whole stays whole: others find room beside it, and cannot be let in
// earlier. `settings.min_items` switches this rule off with the other one for small launches; other policies
// have none. Requires: the local sizes are explicit.
Decision limit_to_full_device(const base::Settings& settings, const Kernel& kernel, const Device& device,
                              const NDRange& range, std::size_t slices);

// The most slices that the policy `budget` may choose.
std::size_t max_slices(const base::Settings& settings, unsigned vms);

// Whether `range`, whose local sizes are explicit, can be cut into the `slices` that are wanted, or into
// fewer where only those can carry a tag that the kernel needs. `uneven_accepted`: the driver is known to
// accept launches of this kernel on this device that end in smaller work-groups.
Decision validate_cut(const NDRange& range, const Kernel& kernel, const Device& device, std::size_t slices,
                      bool uneven_accepted);

}  // namespace cleave::plan
