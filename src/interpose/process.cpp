#include "interpose/process.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <pthread.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/broken_pipe.h"
#include "base/log.h"
#include "cleave/cleave.h"
#include "interpose/lessons.h"
#include "interpose/table.h"
#include "observe/path.h"

namespace cleave::interpose {
namespace {

struct Current {
  std::atomic<Process*> process{nullptr};
  Process* forking = nullptr;  // the one whose locks are held around the fork that is under way
};
constinit Current current;

// So many lines of a summary tell what was learnt.
constexpr std::size_t kMostLessons = 64;

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
  const base::WithoutBrokenPipes safely;
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
  if (file < 0) return false;
  const bool written = write_all(file, text);
  return close(file) == 0 && written;
}

// A file is replaced as a whole, so that a reader never sees half of it; a link's target, not the link. What
// is there and is no file (a pipe, a terminal, /dev/null) is written to as it is.
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

Process::Process(const Table& below, std::string face_name, std::string below_name,
                 base::Configuration loaded, base::Clock& time)
    : next(below),
      face(std::move(face_name)),
      next_name(std::move(below_name)),
      configuration(std::move(loaded)),
      clock(time),
      neighbours(configuration.settings),
      unknown(counters.of("(unknown)")),
      trace(configuration.settings.trace.empty() ? nullptr : std::make_unique<Tracer>(*this)),
      drivers(next, clock, configuration.settings.cache),
      binaries(configuration.settings.cache),
      helpers(next) {}

bool Process::in_charge() {
  const Charge known = charge_.load(std::memory_order_acquire);
  if (known == Charge::begun) return true;
  return known != Charge::others && begin();
}

bool Process::will_be_in_charge() {
  const Charge known = charge_.load(std::memory_order_acquire);
  return (known == Charge::unknown ? find_out() : known) != Charge::others;
}

bool Process::begin() noexcept {
  if (!will_be_in_charge()) return false;
  neighbours.begin();
  load_lessons(*this);
  // A face above may have said meanwhile that it splits.
  Charge known = Charge::ours;
  return charge_.compare_exchange_strong(known, Charge::begun, std::memory_order_acq_rel) ||
         known == Charge::begun;
}

Process::Charge Process::find_out() noexcept {
  const bool below = next.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME) != nullptr;
  const Charge found = below ? Charge::others : Charge::ours;
  // A vendor library among the drivers is told to leave it to us. (It does not answer to the name above: a
  // loader does not pass that on.)
  void* const aside = below ? nullptr : next.clGetExtensionFunctionAddress(kStandAside);
  if (aside != nullptr) reinterpret_cast<decltype(&interpose::stand_aside)>(aside)();
  // Several threads may come here at once; all find the same, and one reports. A face above may have come
  // first, and what it said counts.
  Charge known = Charge::unknown;
  if (!charge_.compare_exchange_strong(known, found, std::memory_order_acq_rel)) return known;
  if (!below) {
    for (const std::string& problem : configuration.problems) base::say(problem);
  }
  return found;
}

void Process::count_whole(observe::KernelCounters& kernel, plan::Whole why) noexcept {
  kernel.count_whole(static_cast<std::size_t>(why));
  neighbours.entry().count_whole();
}

void Process::count_split(observe::KernelCounters& kernel, std::size_t slices, base::Nanoseconds added,
                          const plan::Way& way) noexcept {
  kernel.count_split(slices, added);
  if (way.mode == plan::Mode::pipelined) kernel.count_pipelined();
  if (way.why) kernel.count_queued(static_cast<std::size_t>(*way.why));
  neighbours.entry().count_split(slices, added);
}

observe::Circumstances Process::circumstances() const {
  observe::Circumstances circumstances;
  circumstances.vms = neighbours.vms();
  const neighbours::Report report = neighbours.report();
  circumstances.waits = {waits.polite(), waits.slept()};
  circumstances.neighbours = {report.source, neighbours::name(report.state), report.stale, report.changes};
  if (settings().policy.learns()) {
    for (const learn::Lesson& lesson : lessons.lessons(kMostLessons)) {
      circumstances.lessons.push_back({lesson.name, learn::in_words(lesson.advice), lesson.advice.slices,
                                       lesson.advice.loss, lesson.advice.duration, lesson.advice.measured});
    }
  }
  for (const auto& line : configuration.lines) {
    if (line.key == "split.policy") circumstances.policy = line.value;
  }
  static_assert(plan::kWholeReasons == observe::kReasons);
  for (std::size_t i = 0; i < plan::kWholeReasons; ++i) {
    circumstances.reasons[i] = plan::name(static_cast<plan::Whole>(i));
  }
  for (std::size_t i = 0; i < plan::kQueuedReasons; ++i) {
    circumstances.queued_reasons[i] = plan::name(static_cast<plan::Queued>(i));
  }
  return circumstances;
}

void Process::write_summary() noexcept try {
  const std::string& stats = settings().stats;
  if (stats.empty()) return;
  const auto kernels = counters.all();
  if (kernels.empty()) return;
  if (stats == "stderr") return base::print(observe::as_text(kernels, circumstances()));
  const std::string path = observe::with_process_id(stats);
  if (!write_file(path, observe::as_json(kernels, circumstances()))) {
    base::say("CLEAVE_STATS=\"" + stats + "\": " + path + " cannot be written (" + std::strerror(errno) +
              "): name a file in a folder that can be written to");
  }
} catch (...) {
  base::say("out of memory while writing the summary");
}

void Process::before_fork() {
  neighbours.before_fork();
  if (trace) trace->before_fork();
  drivers.lock().lock();
  binaries.lock().lock();
  helpers.lock().lock();
  counters.lock().lock();
  programs.lock_all();
  kernels.lock_all();
  queues.lock_all();
  events.lock_all();
  pending.lock_all();
  timed.lock_all();
  timers.lock_all();
  lessons.lock_all();
}

void Process::after_fork_in_parent() {
  unlock_all();
  if (trace) trace->after_fork_in_parent();
  neighbours.after_fork_in_parent();
}

void Process::after_fork_in_child() {
  counters.reset();
  gates.reset();
  waits.reset();
  unlock_all();
  if (trace) trace->after_fork_in_child();
  neighbours.after_fork_in_child();
  // The child's own first launch begins anew.
  Charge begun = Charge::begun;
  charge_.compare_exchange_strong(begun, Charge::ours, std::memory_order_relaxed);
}

void Process::unlock_all() {
  lessons.unlock_all();
  timers.unlock_all();
  timed.unlock_all();
  pending.unlock_all();
  events.unlock_all();
  queues.unlock_all();
  kernels.unlock_all();
  programs.unlock_all();
  counters.lock().unlock();
  helpers.lock().unlock();
  binaries.lock().unlock();
  drivers.lock().unlock();
}

Process& process() { return *current.process.load(std::memory_order_acquire); }

Process* current_process() { return current.process.load(std::memory_order_acquire); }

void watch_forks() {
  pthread_atfork(
      [] {
        current.forking = current_process();
        if (current.forking != nullptr) current.forking->before_fork();
      },
      [] {
        if (current.forking != nullptr) current.forking->after_fork_in_parent();
      },
      [] {
        if (current.forking != nullptr) current.forking->after_fork_in_child();
      });
}

Process* replace_process(Process* made) { return current.process.exchange(made, std::memory_order_acq_rel); }

}  // namespace cleave::interpose
