#include "interpose/launch/driver_hazards.h"

#include <algorithm>

namespace cleave::interpose {
namespace {

// Whether a command in the wait list has failed or may fail, and the launch with it. Intel's runtime reports markers
// that failed as complete.
bool may_fail(const Table& next, const ObjectRecords& records, std::span<const cl_event> wait_list) {
  if (!wait_list.empty() && records.has_failed_user_event) return true;
  return std::any_of(wait_list.begin(), wait_list.end(), [&](cl_event event) {
    cl_int status = CL_QUEUED;
    return next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
               CL_SUCCESS ||
           status != CL_COMPLETE;
  });
}

// Whether launches with and without an offset may be in flight together. On two in-order queues there are at most two,
// which the driver can handle.
bool may_race(const ObjectRecords& records, const QueueRecord& queue) {
  constexpr std::size_t kQueuesWithoutARace = 2;
  return !queue.in_order || records.queues.size() > kQueuesWithoutARace;
}

}  // namespace

std::optional<plan::UnsplitReason> driver_hazard(const Table& next, const ObjectRecords& records,
                                                 const QueueRecord& queue,
                                                 std::span<const cl_event> wait_list) {
  using plan::UnsplitReason;
  if (queue.crashes_on_several_mixed_offsets && may_race(records, queue))
    return UnsplitReason::racing_offsets;
  if (queue.crashes_on_late_failure && !records.pending_user_events.empty())
    return UnsplitReason::late_failure;
  if (queue.crashes_on_shared_failure && may_fail(next, records, wait_list))
    return UnsplitReason::shared_failure;
  return std::nullopt;
}

}  // namespace cleave::interpose
