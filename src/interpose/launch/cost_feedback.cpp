#include "interpose/launch/cost_feedback.h"

#include <string_view>

#include "interpose/calls/overrides.h"
#include "interpose/state/cache_folder.h"
#include "interpose/state/callback_scope.h"

namespace cleave::interpose {
namespace {

using base::SplitPolicy;
using plan::UnsplitReason;

constexpr const char* kFile = "costs";
constexpr std::size_t kLongestFile = std::size_t{1} << 20U;

std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;  // FNV-1a
  return hash;
}
constexpr std::uint64_t kSeed = 0xcbf29ce484222325U;

// Launches of one family take times that are roughly proportional to their sizes.
learn::Key size_family_of(const Interposer& p, const KernelRecord& kernel, const QueueRecord& queue) {
  if (kernel.identity == 0 || queue.identity == 0) return 0;
  const auto mode = static_cast<std::uint64_t>(p.settings().launch);
  const std::uint64_t kind = mode << 2U | (queue.in_order ? 2U : 0U) | (queue.profiling ? 1U : 0U);
  return learn::mix_key(learn::mix_key(kernel.identity, queue.identity), kind);
}

learn::Key key_of_launch(learn::Key size_family, const plan::NDRange& range) {
  learn::Key key = learn::mix_key(size_family, range.dims);
  for (unsigned d = 0; d < range.dims; ++d)
    key = learn::mix_key(learn::mix_key(key, range.global[d]), range.local[d]);
  return key;
}

// "mm 5120x5120"
std::string name_of(const KernelRecord& kernel, const plan::NDRange& range) {
  std::string name = kernel.name ? *kernel.name : "(unknown)";
  for (unsigned d = 0; d < range.dims; ++d)
    name.append(d == 0 ? " " : "x").append(std::to_string(range.global[d]));
  return name;
}

std::size_t groups_of(const plan::NDRange& range) {
  plan::Extent groups{1, 1, 1};
  for (unsigned d = 0; d < range.dims; ++d) groups[d] = range.groups(d);
  return plan::items(groups);
}

LearnedDecision decide_for_budget(Interposer& p, learn::Key key, const KernelRecord& kernel,
                                  const plan::NDRange& range, std::size_t fallback) {
  const std::size_t limit = std::min(plan::max_slices(p.settings(), p.neighbours.vms()), groups_of(range));
  const learn::SliceAdvice advice =
      p.costs.within_budget(key, p.settings().budget, limit, [&] { return name_of(kernel, range); });
  if (advice.state == learn::AdviceState::unmeasured) return {fallback, std::nullopt, key};
  if (advice.slices > 1) return {advice.slices, std::nullopt, key};
  return {1, advice.state == learn::AdviceState::trial ? UnsplitReason::measuring : UnsplitReason::costly,
          key};
}

bool may_be_pipelined(const Interposer& p, const KernelRecord& kernel, const QueueRecord& queue) {
  const base::LaunchMode mode = p.settings().launch;
  const bool wanted_slices = mode == base::LaunchMode::pipelined ||
                             (mode == base::LaunchMode::automatic && queue.facts.gains_from_pipelining);
  return wanted_slices && !kernel.facts.talks && queue.queue_template.has_value();
}

LearnedDecision decide_for_quantum(Interposer& p, learn::Key key, learn::Key size_family,
                                   const KernelRecord& kernel, const QueueRecord& queue,
                                   const plan::NDRange& range, std::size_t fallback) {
  const auto items = static_cast<double>(plan::items(range.global));
  const learn::SliceAdvice advice =
      p.costs.duration(key, size_family, items, [&] { return name_of(kernel, range); });
  if (advice.state == learn::AdviceState::unmeasured) return {fallback, std::nullopt, key};
  const double quanta =
      static_cast<double>(advice.duration.count()) / static_cast<double>(p.settings().policy.quantum.count());
  const std::size_t slices = plan::slices_in_quantum(quanta, range, plan::order_of(kernel.facts), queue.facts,
                                                     may_be_pipelined(p, kernel, queue));
  p.costs.set_slices(key, slices);
  if (slices == 1) return {1, UnsplitReason::brief, key};
  return {slices, std::nullopt, key};
}

}  // namespace

std::uint64_t identity_of_kernel(const std::string& name, const ProgramRecord* program) noexcept {
  std::uint64_t hash = hash_of(name, kSeed);
  if (program != nullptr && program->source) hash = hash_of(*program->source, hash);
  if (program != nullptr && program->options) hash = hash_of(*program->options, hash);
  return hash != 0 ? hash : 1;
}

std::uint64_t identity_of_driver(const Table& next, cl_device_id device) noexcept try {
  const std::uint64_t hash = hash_of(name_driver(next, device), kSeed);
  return hash != 0 ? hash : 1;
} catch (...) {  // out of memory: not measured
  return 0;
}

LearnedDecision decide_from_costs(Interposer& p, const KernelRecord& kernel, const QueueRecord& queue,
                                  const plan::NDRange& range, std::size_t fallback) noexcept try {
  const learn::Key size_family = p.settings().policy.learns() ? size_family_of(p, kernel, queue) : 0;
  if (size_family == 0) return {fallback, std::nullopt, 0};
  const learn::Key key = key_of_launch(size_family, range);
  if (p.settings().policy.kind == SplitPolicy::Kind::budget)
    return decide_for_budget(p, key, kernel, range, fallback);
  return decide_for_quantum(p, key, size_family, kernel, queue, range, fallback);
} catch (...) {  // out of memory
  return {fallback, std::nullopt, 0};
}

void note_launch(Interposer& p, const Enqueued& launch, const MeasuredLaunch& ticket) noexcept {
  if (ticket.key == 0) return;
  const bool by_event = launch.profiling && launch.event != nullptr;
  // The host's clock would include the time that the launch waits for others.
  const bool by_host = !by_event && !launch.waits;
  p.launch_timers.launched(launch.queue, launch.start, by_host ? ticket : MeasuredLaunch{}, launch.event,
                           p.clock);
  if (!by_event) return;
  try {
    p.measured_events.add(launch.event, ticket);
  } catch (...) {  // out of memory: not measured
  }
}

void record_event_time(Interposer& p, cl_event event) noexcept {
  const auto ticket = p.measured_events.find(event);
  if (!ticket) return;
  cl_ulong start = 0;
  cl_ulong end = 0;
  if (p.next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) !=
          CL_SUCCESS ||
      interpose::clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) !=
          CL_SUCCESS)
    return;
  p.measured_events.forget(event);
  if (end > start) {
    const auto time = static_cast<std::int64_t>(end - start);
    p.costs.observe(ticket->key, ticket->slices, base::Nanoseconds(time));
  }
}

void record_wait(Interposer& p, cl_command_queue queue, const LaunchTimers::Wait& wait,
                 cl_event event) noexcept {
  const auto timed = p.launch_timers.end_wait(queue, wait, p.clock, event);
  if (timed) p.costs.observe(timed->ticket.key, timed->ticket.slices, timed->time);
}

// Not if the call might have to fail at once for the program to go on, and not if another thread could enqueue before
// the call's own command.
void finish_timed_launch(Interposer& p, cl_command_queue queue) noexcept {
  if (p.launch_timers.empty() || !p.launch_timers.is_timing(queue)) return;
  if (CallbackScope::inside() || !p.pending_user_events.empty() || p.wait_statistics.of(queue).shared())
    return;
  const auto record = p.queues.find(queue);
  if (record && record->in_order) interpose::clFinish(queue);
}

void load_costs(Interposer& p) noexcept try {
  const std::string& folder = p.settings().cache;
  if (!p.settings().policy.learns() || folder.empty()) return;
  p.costs.restore(learn::parse_lines(read_file(folder, kFile, kLongestFile)));
} catch (...) {  // out of memory: costs are measured anew
}

void save_costs(Interposer& p) noexcept try {
  const std::string& folder = p.settings().cache;
  if (!p.settings().policy.learns() || folder.empty()) return;
  const auto measured_lines = p.costs.measured_lines();
  if (measured_lines.empty()) return;
  rewrite_file(folder, kFile, kLongestFile,
               [&](const std::string& old) { return learn::merge_lines(old, measured_lines); });
} catch (...) {
}

}  // namespace cleave::interpose
