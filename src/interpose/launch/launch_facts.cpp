#include "interpose/launch/launch_facts.h"

#include <algorithm>
#include <cassert>

#include "interpose/drivers/device_queries.h"
#include "interpose/launch/driver_hazards.h"
#include "interpose/launch/local_size.h"
#include "plan/tag.h"

namespace cleave::interpose {
namespace {

using plan::Decision;
using plan::UnsplitReason;

bool is_among(const std::vector<cl_device_id>& devices, cl_device_id device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

// Why slices cannot tell this kernel about the whole launch; empty if they can. The driver is not probed here: this may
// be a callback, or the device may be busy.
std::optional<UnsplitReason> tag_obstacle(ProbeCache& drivers, const KernelRecord& kernel,
                                          cl_device_id device, const plan::NDRange& range) {
  if (!kernel.trusted && !(kernel.tagged && is_among(*kernel.tagged, device)))
    return UnsplitReason::untagged_build;
  const bool flat = plan::is_flat(range);
  // A binary may lack the prelude, or have that of a version which did not know such tags.
  if (kernel.trusted && !flat) return UnsplitReason::no_room_for_tag;
  const auto facts = drivers.known(device);
  const bool carries = facts && (flat ? facts->carries_tags : facts->carries_volume_tags);
  return carries ? std::nullopt : std::optional(UnsplitReason::no_tags);
}

}  // namespace

const QueueRecord& LaunchFacts::queue() const {
  assert(queue_);
  return *queue_;
}

const plan::NDRange& LaunchFacts::range() const {
  if (!range_) range_ = call_.range();
  return *range_;
}

std::optional<UnsplitReason> LaunchFacts::kernel_obstacle() {
  return plan::obstacle(p_.settings(), kernel_.facts, plan::Device{.cores = 0}, items());
}

std::optional<UnsplitReason> LaunchFacts::queue_obstacle() {
  if (!queue_) queue_ = p_.records.queues.find(call_.queue);
  if (!queue_) queue_ = query_queue(p_.next, p_.devices, call_.queue);
  if (!queue_) return UnsplitReason::queue_properties;
  if (queue_->remote) return UnsplitReason::remote;
  if (!queue_->plain) {
    return queue_->crashes_on_mixed_offsets ? UnsplitReason::mixed_offsets : UnsplitReason::queue_properties;
  }
  if (const auto hazard = driver_hazard(p_.next, p_.records, *queue_, {call_.wait_list, call_.waits}))
    return hazard;
  const std::size_t items = this->items();
  if (const auto reason = plan::obstacle(p_.settings(), kernel_.facts, queue_->facts, items)) return reason;
  if (kernel_.facts.source == plan::Kernel::Source::tagged) {
    if (const auto reason = tag_obstacle(p_.drivers, kernel_, queue_->device, range())) return reason;
  }
  if (queue_->copies_variables && kernel_.has_program_variables) return UnsplitReason::variable_copies;
  return items == 1 ? std::optional(UnsplitReason::one_group) : std::nullopt;
}

std::optional<UnsplitReason> LaunchFacts::fix_local_size(std::size_t slices) {
  if (call_.local != nullptr) return std::nullopt;
  const auto local = explicit_local_size(p_.next, p_.devices, *queue_, call_.queue, call_.kernel,
                                         kernel_.facts.depends_on_grouping, range(), slices);
  if (!local) return UnsplitReason::local_size;
  range_->local = *local;
  return std::nullopt;
}

plan::Decision LaunchFacts::cut(std::size_t slices) {
  const Decision decision = plan::validate_cut(range(), kernel_.facts, queue_->facts, slices,
                                               kernel_.uneven_accepted == queue_->device);
  refused_for_shape_ =
      decision.unsplit_reason && plan::kind_of(*decision.unsplit_reason) == UnsplitReason::shape;
  return decision;
}

}  // namespace cleave::interpose
