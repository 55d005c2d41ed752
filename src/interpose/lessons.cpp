#include "interpose/lessons.h"

#include <string_view>

#include "interpose/cache_folder.h"
#include "interpose/callback_scope.h"
#include "interpose/overrides.h"

namespace cleave::interpose {
namespace {

using base::SplitPolicy;
using plan::Whole;

constexpr const char* kFile = "costs";
constexpr std::size_t kLongestFile = std::size_t{1} << 20U;

std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;  // FNV-1a
  return hash;
}
constexpr std::uint64_t kSeed = 0xcbf29ce484222325U;

// Launches with that in common take times in proportion to their sizes, more or less.
learn::Key relative_of(const Process& p, const KernelRecord& kernel, const QueueRecord& queue) {
  if (kernel.identity == 0 || queue.identity == 0) return 0;
  const auto mode = static_cast<std::uint64_t>(p.settings().launch);
  const std::uint64_t kind = mode << 2U | (queue.in_order ? 2U : 0U) | (queue.profiling ? 1U : 0U);
  return learn::mixed(learn::mixed(kernel.identity, queue.identity), kind);
}

learn::Key key_of_launch(learn::Key relative, const plan::NDRange& range) {
  learn::Key key = learn::mixed(relative, range.dims);
  for (unsigned d = 0; d < range.dims; ++d)
    key = learn::mixed(learn::mixed(key, range.global[d]), range.local[d]);
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

Told tell_budget(Process& p, learn::Key key, const KernelRecord& kernel, const plan::NDRange& range,
                 std::size_t otherwise) {
  const std::size_t limit = std::min(plan::most_slices(p.settings(), p.neighbours.vms()), groups_of(range));
  const learn::Advice advice =
      p.lessons.within_budget(key, p.settings().budget, limit, [&] { return name_of(kernel, range); });
  if (advice.state == learn::State::unmeasured) return {otherwise, std::nullopt, key};
  if (advice.slices > 1) return {advice.slices, std::nullopt, key};
  return {1, advice.state == learn::State::trial ? Whole::measuring : Whole::costly, key};
}

bool may_be_pipelined(const Process& p, const KernelRecord& kernel, const QueueRecord& queue) {
  const base::LaunchMode mode = p.settings().launch;
  const bool wanted = mode == base::LaunchMode::pipelined ||
                      (mode == base::LaunchMode::automatic && queue.facts.prefers_pipelines);
  return wanted && !kernel.facts.talks && queue.twin.has_value();
}

Told tell_quantum(Process& p, learn::Key key, learn::Key relative, const KernelRecord& kernel,
                  const QueueRecord& queue, const plan::NDRange& range, std::size_t otherwise) {
  const auto items = static_cast<double>(plan::items(range.global));
  const learn::Advice advice =
      p.lessons.duration(key, relative, items, [&] { return name_of(kernel, range); });
  if (advice.state == learn::State::unmeasured) return {otherwise, std::nullopt, key};
  const double quanta =
      static_cast<double>(advice.duration.count()) / static_cast<double>(p.settings().policy.quantum.count());
  const std::size_t slices = plan::slices_in_quantum(quanta, range, plan::order_of(kernel.facts), queue.facts,
                                                     may_be_pipelined(p, kernel, queue));
  p.lessons.used(key, slices);
  if (slices == 1) return {1, Whole::brief, key};
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
} catch (...) {  // out of memory: nothing is learnt of it
  return 0;
}

Told ask_lessons(Process& p, const KernelRecord& kernel, const QueueRecord& queue, const plan::NDRange& range,
                 std::size_t otherwise) noexcept try {
  const learn::Key relative = p.settings().policy.learns() ? relative_of(p, kernel, queue) : 0;
  if (relative == 0) return {otherwise, std::nullopt, 0};
  const learn::Key key = key_of_launch(relative, range);
  if (p.settings().policy.kind == SplitPolicy::Kind::budget)
    return tell_budget(p, key, kernel, range, otherwise);
  return tell_quantum(p, key, relative, kernel, queue, range, otherwise);
} catch (...) {  // out of memory
  return {otherwise, std::nullopt, 0};
}

void note_launch(Process& p, const Enqueued& launch, const Ticket& ticket) noexcept {
  if (ticket.key == 0) return;
  const bool by_event = launch.profiling && launch.event != nullptr;
  // The host's clock would count what the launch waits for.
  const bool by_host = !by_event && !launch.waits;
  p.timers.launched(launch.queue, launch.start, by_host ? ticket : Ticket{}, launch.event, p.clock);
  if (!by_event) return;
  try {
    p.timed.add(launch.event, ticket);
  } catch (...) {  // out of memory: not measured
  }
}

void learn_from(Process& p, cl_event event) noexcept {
  const auto ticket = p.timed.find(event);
  if (!ticket) return;
  cl_ulong start = 0;
  cl_ulong end = 0;
  if (p.next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) !=
          CL_SUCCESS ||
      get_event_profiling_info(event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) !=
          CL_SUCCESS)
    return;
  p.timed.forget(event);
  if (end > start) {
    const auto time = static_cast<std::int64_t>(end - start);
    p.lessons.observe(ticket->key, ticket->slices, base::Nanoseconds(time));
  }
}

void note_waited(Process& p, cl_command_queue queue, const Timers::Wait& wait, cl_event event) noexcept {
  const auto timed = p.timers.waited(queue, wait, p.clock, event);
  if (timed) p.lessons.observe(timed->ticket.key, timed->ticket.slices, timed->time);
}

// Not where the call might have to fail at once for the program to go on, and not where another thread's
// command could come to stand before the call's.
void wait_for_timed_launch(Process& p, cl_command_queue queue) noexcept {
  if (p.timers.empty() || !p.timers.is_timing(queue)) return;
  if (CallbackScope::inside() || !p.pending.empty() || p.waits.of(queue).shared()) return;
  const auto record = p.queues.find(queue);
  if (record && record->in_order) finish(queue);
}

void load_lessons(Process& p) noexcept try {
  const std::string& folder = p.settings().cache;
  if (!p.settings().policy.learns() || folder.empty()) return;
  p.lessons.remember(learn::from_text(read_file(folder, kFile, kLongestFile)));
} catch (...) {  // out of memory: everything is learnt anew
}

void keep_lessons(Process& p) noexcept try {
  const std::string& folder = p.settings().cache;
  if (!p.settings().policy.learns() || folder.empty()) return;
  const auto news = p.lessons.news();
  if (news.empty()) return;
  rewrite_file(folder, kFile, kLongestFile, [&](const std::string& old) { return learn::merged(old, news); });
} catch (...) {
}

}  // namespace cleave::interpose
