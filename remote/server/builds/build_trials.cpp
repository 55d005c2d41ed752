#include "remote/server/builds/build_trials.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "remote/server/processes/packets.h"
#include "remote/transport/descriptor_passing.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {
namespace {

// A compiler keeps some memory of each build.
constexpr unsigned kMaxBuilds = 64;
constexpr std::size_t kMaxIdle = 2;
constexpr std::size_t kMaxPassed = 4096;
// A busy machine may give it less than a processor, and a build that waits takes no processor time.
constexpr std::uint64_t kPatience = 4;
constexpr std::uint64_t kLeastPatience = 60;  // seconds

// A sealed file would do as well; the worker does not change it afterwards.
base::FileDescriptor in_memory(std::string_view text) {
  base::FileDescriptor file(::memfd_create("cleave-build", MFD_CLOEXEC));
  if (file.is_open() && !base::write_all(file.get(), text)) file.close();
  return file;
}

std::string megabytes(std::uint64_t bytes) {
  const std::uint64_t mega = bytes >> 20U;
  return mega != 0 ? std::to_string(mega) + " MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace

BuildTrials::~BuildTrials() {
  const base::MutexLock lock(mutex_);
  for (Process& process : idle_) {
    process.control.close();
    ::waitpid(process.id, nullptr, 0);
  }
}

BuildTrials::Process BuildTrials::start() const {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  Process process{-1, base::FileDescriptor(ends[0]), 0};
  const base::FileDescriptor its_end(ends[1]);
  if (!send_packet_now(ends[0], encode(options_))) return {};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, its_end.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  std::string name = "cleave-serverd";
  std::string argument = kTrialArgument;
  std::array<char*, 3> arguments{name.data(), argument.data(), nullptr};
  const int error =
      ::posix_spawn(&process.id, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) process.id = -1;
  return process;
}

BuildTrials::Process BuildTrials::take() {
  {
    const base::MutexLock lock(mutex_);
    if (!idle_.empty()) {
      Process process = std::move(idle_.back());
      idle_.pop_back();
      return process;
    }
  }
  return start();
}

void BuildTrials::put_back(Process process) {
  if (++process.builds < kMaxBuilds) {
    const base::MutexLock lock(mutex_);
    if (idle_.size() < kMaxIdle) {
      idle_.push_back(std::move(process));
      return;
    }
  }
  process.control.close();
  ::waitpid(process.id, nullptr, 0);
}

void BuildTrials::reap() {
  const base::MutexLock lock(mutex_);
  std::erase_if(idle_, [](const Process& one) { return ::waitpid(one.id, nullptr, WNOHANG) != 0; });
}

std::optional<BuildTrials::Verdict> BuildTrials::attempt_in(Process& process, int request) {
  const auto byte = std::byte{1};
  const bool sent = send_with_descriptor(process.control.get(), std::span(&byte, 1), request);
  const std::chrono::seconds patience(std::max(kPatience * limits_.seconds, kLeastPatience));
  const bool is_late =
      sent && !wait_for(process.control.get(), POLLIN, std::chrono::steady_clock::now() + patience);
  TrialAnswer answer{};
  const bool has_answer =
      sent && !is_late && ::recv(process.control.get(), &answer, sizeof answer, 0) == sizeof answer;
  if (has_answer && answer == TrialAnswer::ended) return Verdict{};
  if (has_answer && answer == TrialAnswer::impossible) return Verdict{Outcome::untried, {}};
  if (has_answer || is_late) ::kill(process.id, SIGKILL);
  int status = 0;
  rusage used{};
  ::wait4(process.id, &status, 0, &used);
  process.id = -1;
  if (has_answer) return too_much(answer == TrialAnswer::output ? Limit::output : Limit::memory);
  if (is_late) return too_much(Limit::time);
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return std::nullopt;
  return describe_end(status, static_cast<std::uint64_t>(used.ru_maxrss) << 10U);
}

BuildTrials::Verdict BuildTrials::too_much(Limit limit) const {
  switch (limit) {
    case Limit::time:
      return {Outcome::refused, "it took more than " + std::to_string(limits_.seconds) +
                                    " s of processor time, the server's limit (--build-time)"};
    case Limit::memory:
      return {Outcome::refused, "it needed more than " + megabytes(limits_.memory) +
                                    " of memory, the server's limit (--build-memory)"};
    case Limit::output:
      break;
  }
  return {Outcome::refused, "the compiler wrote a file of more than " + megabytes(limits_.output) +
                                ", the server's limit (--build-output)"};
}

// A compiler that gets no memory aborts, or crashes, before it has used all that it may.
BuildTrials::Verdict BuildTrials::describe_end(int status, std::uint64_t memory) const {
  constexpr std::uint64_t kLeastPart = 4;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGXCPU) return too_much(Limit::time);
  if (memory >= limits_.memory / kLeastPart) return too_much(Limit::memory);
  return {Outcome::refused,
          "the compiler crashed (" + std::string(signal != 0 ? ::strsignal(signal) : "exit") + ")"};
}

BuildTrials::Verdict BuildTrials::attempt(std::string_view request) {
  const base::Digest digest = base::digest_of(request);
  {
    const base::MutexLock lock(mutex_);
    if (passed_.count(digest) != 0) return {};
  }
  const base::FileDescriptor file = in_memory(request);
  std::optional<Verdict> verdict;
  while (!verdict) {  // a new process always has work
    Process process = take();
    if (process.id < 0 || !file.is_open()) return {Outcome::no_process, {}};
    verdict = attempt_in(process, file.get());
    if (process.id >= 0) put_back(std::move(process));
  }
  if (verdict->outcome == Outcome::passed) {
    const base::MutexLock lock(mutex_);
    if (passed_.size() >= kMaxPassed) passed_.clear();
    passed_.insert(digest);
  }
  return *verdict;
}

}  // namespace cleave::remote::server
