#include "cli/slurm/process.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "cli/system/executable.h"

namespace cleave::cli {
namespace {

using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kWatched[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kWatched) sigaddset(&set, number);
  return set;
}

struct PipePair {
  base::FileDescriptor read_end;
  base::FileDescriptor write_end;
};

PipePair open_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  return {base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
}

// In the child; never returns.
[[noreturn]] void become(const ProcessRequest& request, int input, int output) {
  if (request.own_group) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  if (output >= 0 && request.pipe_errors) ::dup2(output, STDERR_FILENO);
  for (const auto& [name, value] : request.environment) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
  const sigset_t signals = watched_signals();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  execute(request.command);
  std::fprintf(stderr, "cleave: cannot run %s: %s\n", request.command[0].c_str(), std::strerror(errno));
  ::_exit(127);
}

}  // namespace

SignalWatch::SignalWatch() {
  const sigset_t set = watched_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = base::FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalWatch::~SignalWatch() {
  const sigset_t set = watched_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

std::optional<int> SignalWatch::wait(int stream, Milliseconds limit) {
  pollfd watched[2] = {{signals_.get(), POLLIN, 0}, {stream, POLLIN, 0}};
  ::poll(watched, stream >= 0 ? 2 : 1, static_cast<int>(limit.count()));
  std::optional<int> ending;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD) ending = static_cast<int>(info.ssi_signo);
  }
  return ending;
}

Process::Process(const ProcessRequest& request) {
  PipePair in;
  PipePair out;
  if (request.pipe_input) in = open_pipe();
  if (request.pipe_output) out = open_pipe();
  pid_ = ::fork();
  if (pid_ == 0) become(request, in.read_end.get(), out.write_end.get());
  if (pid_ < 0) throw std::runtime_error("cannot run " + request.command[0] + ": " + std::strerror(errno));
  input = std::move(in.write_end);
  output = std::move(out.read_end);
  if (output.is_open()) ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
}

Process::~Process() { end(Milliseconds(0)); }

std::optional<int> Process::status() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

void Process::signal(int number) const {
  if (!status_) ::kill(pid_, number);
}

int Process::end(Milliseconds patience) {
  constexpr Milliseconds kTick{10};
  constexpr Milliseconds kAfterTerm{10'000};
  const auto ended_within = [&](Milliseconds limit) {
    for (const auto until = SteadyClock::now() + limit; !status() && SteadyClock::now() < until;) {
      ::usleep(static_cast<useconds_t>(kTick.count() * 1000));
    }
    return status().has_value();
  };
  if (ended_within(patience)) return *status_;
  signal(SIGTERM);
  if (ended_within(kAfterTerm)) return *status_;
  signal(SIGKILL);
  ended_within(kAfterTerm);
  return status_.value_or(128 + SIGKILL);
}

bool Process::read(std::string& text) const {
  char buffer[4096];
  for (;;) {
    const ssize_t size = ::read(output.get(), buffer, sizeof buffer);
    if (size > 0) {
      text.append(buffer, static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      return size < 0 && errno == EAGAIN;
    }
  }
}

Captured capture(const std::vector<std::string>& command, const std::string& input, Milliseconds limit) {
  Process process({.command = command,
                   .environment = {},
                   .own_group = true,
                   .pipe_input = true,
                   .pipe_output = true,
                   .pipe_errors = false});
  base::write_all(process.input.get(), input);
  process.input.close();
  Captured captured;
  const auto until = SteadyClock::now() + limit;
  for (bool open = true; open && SteadyClock::now() < until;) {
    pollfd watched{process.output.get(), POLLIN, 0};
    if (::poll(&watched, 1, 100) > 0) open = process.read(captured.output);
  }
  captured.status = process.end(
      std::max(Milliseconds(0), std::chrono::duration_cast<Milliseconds>(until - SteadyClock::now())));
  return captured;
}

}  // namespace cleave::cli
