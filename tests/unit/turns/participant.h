// Participants for tests: objects of this process, and processes of their own.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/threads/fork_locks.h"
#include "tests/kit/temporary_folder.h"
#include "turns/turns.h"

namespace cleave::turns {

// Nobody loses its turn for being slow, unless a test says so.
inline Options options_in(const std::string& folder) {
  return {.folder = folder,
          .identity = "device",
          .quantum = 1'000'000,
          .timing = {.check = 5'000'000, .lease = 600'000'000'000}};
}

struct Member {
  explicit Member(const Options& options) : turns(forks, options) { joined = turns.enter(problem); }
  base::ForkLocks forks;
  Turns turns;
  std::string problem;
  bool joined = false;
};

// A process that executes `body` and then sleeps until it is killed, at the latest by the destructor. It says one letter at a
// time.
class OtherProcess {
 public:
  using Say = std::function<void(char)>;

  explicit OtherProcess(const std::function<void(const Say&)>& body) {
    if (pipe(pipe_) != 0) return;
    pid_ = fork();
    if (pid_ != 0) {
      close(pipe_[1]);
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a crashed test leaves nobody behind
    close(pipe_[0]);                   // so that writing fails once the test has ended
    body([this](char letter) { static_cast<void>(!write(pipe_[1], &letter, 1)); });
    for (;;) pause();
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    kill();
    close(pipe_[0]);
  }

  // What it says next; 0 if it says nothing for a minute, or has ended.
  [[nodiscard]] char next() const {
    pollfd readable{pipe_[0], POLLIN, 0};
    char letter = 0;
    if (poll(&readable, 1, 60'000) == 1) static_cast<void>(!read(pipe_[0], &letter, 1));
    return letter;
  }
  [[nodiscard]] bool is_silent() const {
    pollfd readable{pipe_[0], POLLIN, 0};
    return poll(&readable, 1, 0) == 0;
  }
  void send(int signal) const { ::kill(pid_, signal); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int pipe_[2] = {-1, -1};
};

// A process that joins, waits for its turn and then keeps it. Says 'h' when it holds the device, 'n' if it cannot join.
inline std::unique_ptr<OtherProcess> process_that_holds(const Options& options) {
  return std::make_unique<OtherProcess>([&](const OtherProcess::Say& say) {
    Member* const member = new Member(options);  // never leaves
    say(member->joined && member->turns.begin() ? 'h' : 'n');
  });
}

}  // namespace cleave::turns
