#include "interpose/process.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/log.h"
#include "cleave/cleave.h"

namespace cleave::interpose {
namespace {

std::atomic<Process*> current{nullptr};

template <typename Act>
void with_current(Act act) {
  if (Process* const made = current_process()) act(*made);
}

void watch_forks() {
  static const int registered =
      pthread_atfork([] { with_current([](Process& p) { p.before_fork(); }); },
                     [] { with_current([](Process& p) { p.after_fork_in_parent(); }); },
                     [] { with_current([](Process& p) { p.after_fork_in_child(); }); });
  static_cast<void>(registered);
}

// "%p" in a path stands for the process id, so that children do not write over their parent's file.
std::string with_process_id(std::string path) {
  for (auto at = path.find("%p"); at != std::string::npos; at = path.find("%p", at)) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  return path;
}

// The whole file or none: a reader never sees half of it.
bool write_file(const std::string& path, const std::string& text) {
  const std::string unfinished = path + "." + std::to_string(getpid()) + ".tmp";
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return false;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  const bool complete = close(file) == 0 && done == text.size();
  if (complete && rename(unfinished.c_str(), path.c_str()) == 0) return true;
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
      unknown(counters.of("(unknown)")) {}

bool Process::in_charge() {
  const Charge known = charge_.load(std::memory_order_relaxed);
  return known == Charge::unknown ? find_out() : known == Charge::ours;
}

bool Process::find_out() noexcept {
  const bool below = next.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME) != nullptr;
  const Charge found = below ? Charge::others : Charge::ours;
  // Several threads may come here at once; all find the same, and one reports.
  if (charge_.exchange(found, std::memory_order_relaxed) == Charge::unknown && !below) {
    for (const std::string& problem : configuration.problems) base::say(problem);
  }
  return !below;
}

observe::Circumstances Process::circumstances() const {
  observe::Circumstances circumstances;
  circumstances.vms = neighbours.vms();
  for (const auto& line : configuration.lines) {
    if (line.key == "split.policy") circumstances.policy = line.value;
  }
  for (std::size_t i = 0; i < plan::kWholeReasons; ++i) {
    circumstances.reasons[i] = plan::name(static_cast<plan::Whole>(i));
  }
  return circumstances;
}

void Process::write_summary() noexcept try {
  const std::string& stats = settings().stats;
  if (stats.empty()) return;
  const auto kernels = counters.all();
  if (kernels.empty()) return;
  if (stats == "stderr") return base::print(observe::as_text(kernels, circumstances()));
  const std::string path = with_process_id(stats);
  if (!write_file(path, observe::as_json(kernels, circumstances()))) {
    base::say("CLEAVE_STATS=\"" + stats + "\": " + path + " cannot be written (" + std::strerror(errno) +
              "): name a file in a folder that can be written to");
  }
} catch (...) {
  base::say("out of memory while writing the summary");
}

void Process::before_fork() {
  counters.lock().lock();
  programs.lock_all();
  kernels.lock_all();
  queues.lock_all();
  events.lock_all();
  pending.lock_all();
}

void Process::after_fork_in_parent() {
  pending.unlock_all();
  events.unlock_all();
  queues.unlock_all();
  kernels.unlock_all();
  programs.unlock_all();
  counters.lock().unlock();
}

void Process::after_fork_in_child() {
  counters.reset();
  after_fork_in_parent();
}

Process& process() { return *current.load(std::memory_order_acquire); }

Process* current_process() { return current.load(std::memory_order_acquire); }

Process* replace_process(Process* made) {
  watch_forks();
  return current.exchange(made, std::memory_order_acq_rel);
}

}  // namespace cleave::interpose
