#include "interpose/costs/cost_feedback.h"

#include "interpose/state/cache_folder.h"
#include "interpose/state/split_event.h"

namespace cleave::interpose {
namespace {

constexpr const char* kFile = "costs";
constexpr std::size_t kMaxFileSize = std::size_t{1} << 20U;

}  // namespace

void CostFeedback::note_launch(const Enqueued& launch, const MeasuredLaunch& measured) noexcept {
  if (measured.key == 0) return;
  const bool by_event = launch.profiling && launch.event != nullptr;
  // The host's clock would include the time that the launch waits for others.
  const bool by_host = !by_event && !launch.waits;
  MeasuredLaunch timed = by_host ? measured : MeasuredLaunch{};
  if (by_host) timed.expected = table_.known_duration(measured.key);
  timers_.launched(launch.queue, launch.start, timed, launch.event, clock_);
  if (!by_event) return;
  try {
    events_.add(launch.event, measured);
  } catch (...) {  // out of memory: not measured
  }
}

void CostFeedback::event_released(cl_event event) noexcept {
  if (events_.is_last(event)) event_ended(event);
  events_.release(event);
}

void CostFeedback::event_ended(cl_event event) noexcept {
  const auto measured = events_.find(event);
  if (!measured) return;
  cl_ulong start = 0;
  cl_ulong end = 0;
  if (next_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) !=
          CL_SUCCESS ||
      next_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) !=
          CL_SUCCESS)
    return;
  if (const auto split = records_.split_events.find(event))
    start = earliest(next_, *split, CL_PROFILING_COMMAND_START, start);
  events_.forget(event);
  if (end <= start) return;
  const auto time = static_cast<std::int64_t>(end - start);
  table_.observe(measured->key, measured->slices, base::Nanoseconds(time));
}

void CostFeedback::record_wait(cl_command_queue queue, const LaunchTimers::Wait& wait,
                               cl_event event) noexcept {
  const auto timed = timers_.end_wait(queue, wait, clock_, event);
  if (timed) table_.observe(timed->launch.key, timed->launch.slices, timed->time);
}

void CostFeedback::load(const std::string& folder) noexcept try {
  if (!folder.empty()) table_.restore(learn::parse_lines(read_file(folder, kFile, kMaxFileSize)));
} catch (...) {  // out of memory: costs are measured anew
}

void CostFeedback::save(const std::string& folder) const noexcept try {
  if (folder.empty()) return;
  const auto news = table_.measured_lines();
  if (news.empty()) return;
  rewrite_file(folder, kFile, kMaxFileSize,
               [&](const std::string& old) { return learn::merge_lines(old, news); });
} catch (...) {
}

}  // namespace cleave::interpose
