#include "interpose/trace/device_times.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text/json.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxKept = 4096;
constexpr base::Nanoseconds kTimerHolds = 1s;

// A larger error means that the timer is not the profiling clock.
constexpr base::Nanoseconds kMaxTimerError = 10ms;

// After this many unfinished slices in a row, the later ones are taken to be unfinished without a query.
constexpr unsigned kEnough = 8;

std::optional<base::Nanoseconds> profiled(const Table& next, cl_event event, cl_profiling_info name) {
  cl_ulong time = 0;
  if (next.clGetEventProfilingInfo(event, name, sizeof time, &time, nullptr) != CL_SUCCESS) return {};
  return base::Nanoseconds(time);
}

}  // namespace

bool DeviceTimes::has_room(cl_command_queue owner) noexcept {
  const base::MutexLock lock(mutex_);
  const auto found = kept_.find(owner);
  return found == kept_.end() || found->second.size() < kMaxKept;
}

void DeviceTimes::keep(const ProfiledSlice& slice, launch::Event event) {
  const base::MutexLock lock(mutex_);
  kept_[slice.owner].push_back({slice, std::move(event)});
}

void DeviceTimes::collect(cl_command_queue owner, observe::TraceEvents& events) {
  std::vector<Kept> taken;
  {
    const base::MutexLock lock(mutex_);
    const auto found = kept_.find(owner);
    if (found != kept_.end()) taken.swap(found->second);
  }
  if (taken.empty()) return;
  unsigned running = 0;
  std::vector<Kept> left;
  for (Kept& each : taken) {
    const Ended ended = running < kEnough ? ask(each.slice, each.event.get(), events) : Ended::no;
    if (ended != Ended::no) continue;
    ++running;
    left.push_back(std::move(each));
  }
  if (left.empty()) return;
  const base::MutexLock lock(mutex_);
  auto& kept = kept_[owner];
  for (Kept& each : kept) left.push_back(std::move(each));
  kept.swap(left);
}

void DeviceTimes::forget(cl_command_queue owner) noexcept {
  std::vector<Kept> taken;  // destroyed after the lock
  const base::MutexLock lock(mutex_);
  if (const auto found = kept_.find(owner); found != kept_.end()) {
    taken.swap(found->second);
    kept_.erase(found);
  }
  lanes_.erase(owner);
}

bool DeviceTimes::add_slice(const ProfiledSlice& slice, cl_event event, observe::TraceEvents& events) {
  return ask(slice, event, events) == Ended::yes;
}

void DeviceTimes::name(cl_command_queue owner, std::string name) {
  const base::MutexLock lock(mutex_);
  lanes_[owner] = {std::move(name), {}};
}

void DeviceTimes::reset_in_child() noexcept {
  for (auto& [queue, kept] : kept_) {
    for (Kept& each : kept) static_cast<void>(each.event.release());
  }
  kept_.clear();
  lanes_.clear();
  offsets_.clear();
}

DeviceTimes::Ended DeviceTimes::ask(const ProfiledSlice& slice, cl_event event,
                                    observe::TraceEvents& events) {
  const auto end = profiled(next_, event, CL_PROFILING_COMMAND_END);
  cl_int status = CL_COMPLETE;
  if (!end &&
      next_.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) ==
          CL_SUCCESS &&
      status > CL_COMPLETE)
    return Ended::no;
  if (!end || *end == 0ns) return Ended::unknown;
  const auto start = profiled(next_, event, CL_PROFILING_COMMAND_START);
  const auto queued = profiled(next_, event, CL_PROFILING_COMMAND_QUEUED);
  if (!start || !queued || *start > *end) return Ended::unknown;
  ask_timer(slice.device);
  const base::MutexLock lock(mutex_);
  const Mapped mapped = map(slice, *queued);
  Lane& lane = lane_for(slice, *start, events);
  // The clock offset varies a little; on one lane nothing begins before the previous slice has ended.
  const base::Nanoseconds begin = std::max(*start + mapped.offset, lane.mapped);
  lane.end = *end;
  lane.mapped = std::max(begin, *end + mapped.offset);
  const std::string arguments = base::JsonObject()
                                    .add("launch", slice.launch)
                                    .add("slice", slice.index)
                                    .add("device_start_ns", start->count())
                                    .add("device_ns", (*end - *start).count())
                                    .add("clock", mapped.clock)
                                    .text();
  events.span(lane.track, begin, lane.mapped, {*slice.kernel, "device", arguments});
  return Ended::yes;
}

void DeviceTimes::ask_timer(cl_device_id device) {
  const base::Nanoseconds before = clock_.now();
  bool first = false;
  {
    const base::MutexLock lock(mutex_);
    Offset& offset = offsets_[device];
    first = !offset.asked;
    if (!first && (!offset.has_timer || before - offset.asked_at < kTimerHolds)) return;
    offset.asked = true;
    offset.asked_at = before;
  }
  cl_ulong device_time = 0;
  cl_ulong host_time = 0;
  // The tables of older drivers may be too short to contain the function.
  const bool may_have_timer =
      !first || (devices_.of(device)->may_have_timer && next_.clGetDeviceAndHostTimer != nullptr);
  const DeviceHold hold(devices_, device);
  if (!hold) return;  // the program has released it: what was found last holds
  const bool has_timer = may_have_timer &&
                         next_.clGetDeviceAndHostTimer(device, &device_time, &host_time) == CL_SUCCESS &&
                         device_time != 0;
  const base::Nanoseconds after = clock_.now();
  const base::MutexLock lock(mutex_);
  Offset& offset = offsets_[device];
  offset.has_timer = has_timer;
  offset.timer = (before + after) / 2 - base::Nanoseconds(device_time);
}

DeviceTimes::Mapped DeviceTimes::map(const ProfiledSlice& slice, base::Nanoseconds queued) {
  Offset& offset = offsets_[slice.device];
  const base::Nanoseconds least = slice.call_begin - queued;
  const base::Nanoseconds most = slice.call_end - queued;
  if (offset.has_timer && offset.timer > least - kMaxTimerError && offset.timer < most + kMaxTimerError)
    return {std::clamp(offset.timer, least, most), "timer"};
  const bool agrees = offset.known && least <= offset.most && most >= offset.least;
  offset.least = agrees ? std::max(offset.least, least) : least;
  offset.most = agrees ? std::min(offset.most, most) : most;
  offset.known = true;
  return {(offset.least + offset.most) / 2, "enqueue"};
}

DeviceTimes::Lane& DeviceTimes::lane_for(const ProfiledSlice& slice, base::Nanoseconds begin,
                                         observe::TraceEvents& events) {
  Lanes& own = lanes_[slice.queue];
  if (own.name.empty()) own.name = "helper queue " + std::to_string(++helpers_);
  for (Lane& lane : own.lanes) {
    if (lane.end <= begin) return lane;
  }
  own.lanes.push_back({new_track()});
  const std::string more = own.lanes.size() > 1 ? ", beside" : "";
  events.name_track(own.lanes.back().track, own.name + " on the device" + more);
  return own.lanes.back();
}

}  // namespace cleave::interpose
