#include "interpose/interposer.h"

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <pthread.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/log.h"
#include "base/text/display_text.h"
#include "base/threads/ignore_sigpipe.h"
#include "base/threads/scoped_thread_state.h"
#include "base/threads/system_call_filter.h"
#include "interpose/broker/participation.h"
#include "interpose/explain/explanations.h"
#include "observe/process_id_path.h"

namespace cleave::interpose {
namespace {

struct Current {
  std::atomic<Interposer*> interposer{nullptr};
  Interposer* forking = nullptr;  // whose locks are held during the fork in progress
};
constinit Current current;

// The most kernels whose costs a summary lists.
constexpr std::size_t kMaxCostReports = 64;

bool write_to(const std::string& path, int flags, const std::string& text) {
  const base::ScopedIgnoreSigpipe safely;
  base::FileDescriptor file(base::open_own(path.c_str(), O_WRONLY | flags, 0644));
  return file.is_open() && base::write_all(file.get(), text) && close(file.release()) == 0;
}

// Replaces a regular file atomically, so that readers never see a partial file; follows links. Anything else (a pipe, a
// terminal, /dev/null) is written in place.
bool write_file(const std::string& path, const std::string& text) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return write_to(path, O_NONBLOCK, text);
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr), std::free);
  const std::string final_path = target ? target.get() : path;
  const std::string unfinished = final_path + "." + std::to_string(getpid()) + ".tmp";
  if (write_to(unfinished, O_CREAT | O_TRUNC | O_NOFOLLOW, text) &&
      rename(unfinished.c_str(), final_path.c_str()) == 0) {
    return true;
  }
  const int error = errno;
  unlink(unfinished.c_str());
  errno = error;
  return false;
}

// Whether what keeps kernels whole will be written down.
bool keeps_findings(const base::Settings& settings) {
  return settings.explain || (!settings.stats.empty() && settings.stats != "stderr");
}

KernelRecord record_of_unknown(observe::Counters& counters) {
  KernelRecord record;
  record.counters = &counters.of("(unknown)");
  return record;
}

}  // namespace

Interposer::Interposer(const Table& below, Face above, base::Configuration loaded, base::Clock& time)
    : configuration(std::move(loaded)),
      clock(time),
      next(below),
      face(std::move(above)),
      limits(configuration),
      owner(next, configuration),
      neighbours(forks_, configuration.settings),
      counters(forks_),
      unknown_kernel(record_of_unknown(counters)),
      findings(forks_, keeps_findings(configuration.settings)),
      records(forks_),
      devices(forks_, next, configuration.settings, records),
      memory(forks_, next, devices, limits, configuration.settings.registry),
      gates(!configuration.settings.disable),
      launch_timers(forks_),
      trace(make_tracer()),
      drivers(forks_, next, clock, devices, configuration.settings.cache),
      binaries(forks_, configuration.settings.cache),
      helpers(forks_, next, records.contexts),
      costs(forks_, next, clock, launch_timers, records),
      policy(make_policy({configuration.settings, costs.table()})),
      turns(forks_, next, clock, configuration.settings, limits, costs.table(), trace.get()),
      turn_slices(make_turn_slices({configuration.settings, costs.table()})),
      feeder(forks_, gates),
      waits{next,    devices, clock,          configuration.settings.wait, neighbours, launch_timers,
            records, owner,   wait_statistics} {
  if (const BrokerClient* const client = broker(); client != nullptr && client->figures() != nullptr)
    neighbours.entry().use_page(client->figures());
}

std::unique_ptr<Tracer> Interposer::make_tracer() {
  if (settings().trace.empty()) return nullptr;
  return std::make_unique<Tracer>(TraceSources{forks_, next, devices, clock, configuration, face.name,
                                               neighbours, *unknown_kernel.counters, records, owner});
}

bool Interposer::begin() noexcept {
  if (!owner.is_this()) return false;
  base::remember_system_call_filters();
  neighbours.start();
  if (policy->measures_launches()) costs.load(settings().cache);
  return owner.begin();
}

void Interposer::end() noexcept {
  const base::ScopedCancelDisable uncancelled;  // of the thread that exits
  // No report is wanted of a forked child that has made no launch.
  const bool reports = owner.is_this_at_exit() && !in_child_ && !settings().disable;
  // What opens a file only now might be the end of the program.
  const bool may_open = !base::has_new_system_call_filter();
  write_summary(reports, may_open);
  turns.leave();
  feeder.end();
  memory.end();
  if (trace) trace->end(reports && may_open);
  if (policy->measures_launches() && may_open) costs.save(settings().cache);
  neighbours.stop();
}

void Interposer::count_split(observe::KernelCounters& kernel, std::size_t slices, base::Nanoseconds added,
                             const plan::LaunchMethod& method) noexcept {
  kernel.count_split(slices, added);
  if (method.mode == plan::Mode::pipelined) kernel.count_pipelined();
  if (method.why) kernel.count_queued(static_cast<std::size_t>(*method.why));
  neighbours.entry().count_split(slices, added);
}

observe::SummaryContext Interposer::summary_context() const {
  observe::SummaryContext summary_context;
  summary_context.vms = neighbours.vms();
  const neighbours::Report report = neighbours.report();
  summary_context.waits = {wait_statistics.sleeping(), wait_statistics.slept()};
  summary_context.neighbours = {report.source,   neighbours::name(report.state),
                                report.stale,    report.changes,
                                report.pressure, report.restraint};
  summary_context.turns = turns.report();
  summary_context.tenant = settings().limits.tenant;
  summary_context.memory = memory.report();
  if (policy->measures_launches()) {
    for (const learn::CostReport& cost : costs.table().reports(kMaxCostReports)) {
      summary_context.costs.push_back({cost.name, learn::describe(cost.advice), cost.advice.slices,
                                       cost.advice.loss, cost.advice.duration, cost.advice.measured});
    }
  }
  summary_context.policy = configuration.value_of("split.policy");
  static_assert(plan::kUnsplitReasons == observe::kUnsplitReasonCount &&
                plan::kSingleQueueReasons == observe::kSingleQueueReasonCount);
  for (std::size_t i = 0; i < plan::kUnsplitReasons; ++i) {
    summary_context.reasons[i] = plan::name(static_cast<plan::UnsplitReason>(i));
  }
  for (std::size_t i = 0; i < plan::kSingleQueueReasons; ++i) {
    summary_context.queued_reasons[i] = plan::name(static_cast<plan::SingleQueueReason>(i));
  }
  return summary_context;
}

observe::Explanations Interposer::explanations(const std::vector<observe::Counters::Named>& kernels) const {
  return explain(kernels, findings, configuration);
}

void Interposer::write_summary(bool without_launches, bool may_open) noexcept try {
  if (settings().stats.empty() && !settings().explain) return;
  const auto kernels = counters.all();
  if (kernels.empty() && !without_launches) return;
  observe::SummaryContext context = summary_context();
  context.explanations = explanations(kernels);
  write_statistics(kernels, context, may_open);
  const bool is_said = kernels.empty() && settings().stats == "stderr";
  if (settings().explain && !is_said)
    base::write_stderr(base::displayable_lines(observe::as_text(kernels, context.explanations)));
} catch (...) {
  base::log_line("out of memory while writing the summary");
}

void Interposer::write_statistics(const std::vector<observe::Counters::Named>& kernels,
                                  const observe::SummaryContext& summary_context, bool may_open) const {
  const std::string& stats = settings().stats;
  if (stats.empty()) return;
  if (stats == "stderr")
    return base::write_stderr(base::displayable_lines(observe::as_text(kernels, summary_context)));
  if (!may_open) {
    return base::log_line("CLEAVE_STATS=\"" + stats +
                          "\": not written, since the program has put itself under a filter of system calls: "
                          "use CLEAVE_STATS=stderr");
  }
  const std::string path = observe::with_process_id(stats);
  if (!write_file(path, observe::as_json(kernels, summary_context))) {
    base::log_line("CLEAVE_STATS=\"" + stats + "\": " + path + " cannot be written (" + std::strerror(errno) +
                   "): name a file in a folder that can be written to");
  }
}

void Interposer::after_fork_in_child() {
  gates.reset();
  wait_statistics.reset();
  repeated.reset();
  forks_.after_fork_in_child();
  owner.after_fork_in_child();
  in_child_ = true;
}

Interposer* current_interposer() { return current.interposer.load(std::memory_order_acquire); }

Interposer& interposer() {
  Interposer* const installed = current_interposer();
  assert(installed != nullptr);
  return *installed;
}

void register_fork_handlers() {
  pthread_atfork(
      [] {
        current.forking = current_interposer();
        if (current.forking != nullptr) current.forking->before_fork();
      },
      [] {
        if (current.forking != nullptr) current.forking->after_fork_in_parent();
      },
      [] {
        if (current.forking != nullptr) current.forking->after_fork_in_child();
      });
}

Interposer* replace_interposer(Interposer* made) {
  return current.interposer.exchange(made, std::memory_order_acq_rel);
}

}  // namespace cleave::interpose
