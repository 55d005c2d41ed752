// Tries builds before the worker makes them. A driver's compiler cannot be interrupted, and what it does to a short text may
// take hours and all memory there is: so each build is first made by a process of its own, which has limits and may be killed.
// Only if it ends there, well or not, does the worker make it itself, and then the program gets what the driver says. Drivers
// with a cache find the result in it.
//
// A trial process serves one build at a time, several after each other, and ends when it has had nothing to do for a
// second. It runs in the worker's sandbox, and ends with it.
//
// Thread-safe: builds run on several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/files/file_descriptor.h"
#include "base/text/digest.h"
#include "base/threads/mutex.h"
#include "daemon/options.h"
#include "remote/server/options/limits.h"

namespace cleave::remote::server {

// The argument with which the server's program becomes a trial process (worker/trial_process.h).
inline constexpr const char* kTrialArgument = "--try-builds";

// How a trial has ended, if its process has not ended with it.
enum class TrialAnswer : char {
  ended = 'e',       // the build, with whatever result
  impossible = 'i',  // the driver does not make such a program here
  memory = 'm',      // the build has failed for want of memory
  output = 'o',      // the build wanted to write a file that is too large
};

class BuildTrials {
 public:
  enum class Outcome : std::uint8_t {
    passed,   // or it has passed before
    untried,  // the driver cannot do it in another process
    refused,  // it exceeds a limit, or the compiler has crashed: `problem` says which
    no_process
  };
  struct Verdict {
    Outcome outcome = Outcome::passed;
    std::string problem;  // for users
  };

  // `options`: those that this process was given, for its trial processes.
  BuildTrials(std::vector<daemon::GivenValue> options, const BuildLimits& limits)
      : options_(std::move(options)), limits_(limits) {}
  BuildTrials(const BuildTrials&) = delete;
  BuildTrials& operator=(const BuildTrials&) = delete;
  ~BuildTrials();

  [[nodiscard]] bool are_wanted() const { return limits_.seconds != 0; }

  // Of a TrialRequest (messages.fbs). Waits for the trial. May throw std::bad_alloc.
  Verdict attempt(std::string_view request);

  // Forgets the processes that have ended for want of work. To be called now and then.
  void reap();

 private:
  enum class Limit : std::uint8_t { time, memory, output };
  struct Process {
    pid_t id = -1;  // -1: none
    base::FileDescriptor control;
    unsigned builds = 0;
  };
  // Of one build by one process. Empty: the process had ended for want of work.
  std::optional<Verdict> attempt_in(Process& process, int request);
  [[nodiscard]] Verdict too_much(Limit limit) const;
  // `memory`: the most bytes that it has had.
  [[nodiscard]] Verdict describe_end(int status, std::uint64_t memory) const;
  Process take();
  [[nodiscard]] Process start() const;
  void put_back(Process process);

  const std::vector<daemon::GivenValue> options_;
  const BuildLimits limits_;
  base::Mutex mutex_;
  std::vector<Process> idle_ CLEAVE_GUARDED_BY(mutex_);
  std::set<base::Digest> passed_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::server
