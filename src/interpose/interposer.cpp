#include "interpose/interposer.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <pthread.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/ignore_sigpipe.h"
#include "base/log.h"
#include "cleave/cleave.h"
#include "interpose/calls/table.h"
#include "interpose/launch/cost_feedback.h"
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

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

bool write_to(const std::string& path, int flags, const std::string& text) {
  const base::ScopedIgnoreSigpipe safely;
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
  if (file < 0) return false;
  const bool written = write_all(file, text);
  return close(file) == 0 && written;
}

// Replaces a regular file atomically, so that readers never see half of it; follows links. Anything else (a pipe, a
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

}  // namespace

Interposer::Interposer(const Table& below, std::string face_name, std::string below_name,
                       base::Configuration loaded, base::Clock& time)
    : next(below),
      face(std::move(face_name)),
      next_name(std::move(below_name)),
      configuration(std::move(loaded)),
      clock(time),
      neighbours(configuration.settings),
      unknown_kernel(counters.of("(unknown)")),
      trace(configuration.settings.trace.empty() ? nullptr : std::make_unique<Tracer>(*this)),
      drivers(next, clock, configuration.settings.cache),
      binaries(configuration.settings.cache),
      helpers(next) {}

bool Interposer::begin_splitting() {
  const SplitOwner known = split_owner_.load(std::memory_order_acquire);
  if (known == SplitOwner::this_begun) return true;
  return known != SplitOwner::another_interposer && begin();
}

bool Interposer::is_split_owner() {
  const SplitOwner known = split_owner_.load(std::memory_order_acquire);
  return (known == SplitOwner::unknown ? find_split_owner() : known) != SplitOwner::another_interposer;
}

bool Interposer::begin() noexcept {
  if (!is_split_owner()) return false;
  neighbours.start();
  load_costs(*this);
  // A face above may have taken over meanwhile.
  SplitOwner known = SplitOwner::this_interposer;
  return split_owner_.compare_exchange_strong(known, SplitOwner::this_begun, std::memory_order_acq_rel) ||
         known == SplitOwner::this_begun;
}

Interposer::SplitOwner Interposer::find_split_owner() noexcept {
  const bool below = next.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME) != nullptr;
  const SplitOwner found = below ? SplitOwner::another_interposer : SplitOwner::this_interposer;
  // A vendor library among the drivers is asked to leave splitting to us. (It does not answer to the name above: a
  // loader does not forward that.)
  void* const aside = below ? nullptr : next.clGetExtensionFunctionAddress(kStandAside);
  if (aside != nullptr) reinterpret_cast<decltype(&interpose::stand_aside)>(aside)();
  // Concurrent threads get the same answer, and one of them reports. If a face above came first, its decision counts.
  SplitOwner known = SplitOwner::unknown;
  if (!split_owner_.compare_exchange_strong(known, found, std::memory_order_acq_rel)) return known;
  if (!below) {
    for (const std::string& problem : configuration.problems) base::log_line(problem);
    for (const std::string& notice : configuration.notices) base::log_line(notice);
  }
  return found;
}

void Interposer::count_unsplit(observe::KernelCounters& kernel, plan::UnsplitReason why) noexcept {
  kernel.count_unsplit(static_cast<std::size_t>(why));
  neighbours.entry().count_whole();
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
  summary_context.neighbours = {report.source, neighbours::name(report.state), report.stale, report.changes};
  if (settings().policy.learns()) {
    for (const learn::CostReport& cost : costs.reports(kMaxCostReports)) {
      summary_context.costs.push_back({cost.name, learn::describe(cost.advice), cost.advice.slices,
                                         cost.advice.loss, cost.advice.duration, cost.advice.measured});
    }
  }
  for (const auto& line : configuration.lines) {
    if (line.key == "split.policy") summary_context.policy = line.value;
  }
  static_assert(plan::kUnsplitReasons == observe::kUnsplitReasonCount);
  for (std::size_t i = 0; i < plan::kUnsplitReasons; ++i) {
    summary_context.reasons[i] = plan::name(static_cast<plan::UnsplitReason>(i));
  }
  for (std::size_t i = 0; i < plan::kSingleQueueReasons; ++i) {
    summary_context.queued_reasons[i] = plan::name(static_cast<plan::SingleQueueReason>(i));
  }
  return summary_context;
}

void Interposer::write_summary() noexcept try {
  const std::string& stats = settings().stats;
  if (stats.empty()) return;
  const auto kernels = counters.all();
  if (kernels.empty()) return;
  if (stats == "stderr") return base::write_stderr(observe::as_text(kernels, summary_context()));
  const std::string path = observe::with_process_id(stats);
  if (!write_file(path, observe::as_json(kernels, summary_context()))) {
    base::log_line("CLEAVE_STATS=\"" + stats + "\": " + path + " cannot be written (" + std::strerror(errno) +
                   "): name a file in a folder that can be written to");
  }
} catch (...) {
  base::log_line("out of memory while writing the summary");
}

void Interposer::before_fork() {
  neighbours.before_fork();
  if (trace) trace->before_fork();
  drivers.lock().lock();
  binaries.lock().lock();
  helpers.lock().lock();
  counters.lock().lock();
  programs.lock_all();
  kernels.lock_all();
  queues.lock_all();
  split_events.lock_all();
  pending_user_events.lock_all();
  measured_events.lock_all();
  launch_timers.lock_all();
  costs.lock_all();
}

void Interposer::after_fork_in_parent() {
  unlock_all();
  if (trace) trace->after_fork_in_parent();
  neighbours.after_fork_in_parent();
}

void Interposer::after_fork_in_child() {
  counters.reset();
  gates.reset();
  wait_statistics.reset();
  unlock_all();
  if (trace) trace->after_fork_in_child();
  neighbours.after_fork_in_child();
  // The child starts over with its own first launch.
  SplitOwner this_begun = SplitOwner::this_begun;
  split_owner_.compare_exchange_strong(this_begun, SplitOwner::this_interposer, std::memory_order_relaxed);
}

void Interposer::unlock_all() {
  costs.unlock_all();
  launch_timers.unlock_all();
  measured_events.unlock_all();
  pending_user_events.unlock_all();
  split_events.unlock_all();
  queues.unlock_all();
  kernels.unlock_all();
  programs.unlock_all();
  counters.lock().unlock();
  helpers.lock().unlock();
  binaries.lock().unlock();
  drivers.lock().unlock();
}

Interposer& interposer() { return *current.interposer.load(std::memory_order_acquire); }

Interposer* current_interposer() { return current.interposer.load(std::memory_order_acquire); }

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
