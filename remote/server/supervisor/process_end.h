// How a child of the supervisor has ended.
//
// Thread-safe: plain functions of a child.
#pragma once

#include <csignal>

#include <sys/types.h>
#include <sys/wait.h>

namespace cleave::remote::server {

// Whether the child has, leaving it to be waited for.
inline bool has_ended(pid_t process) {
  siginfo_t status{};
  const bool known = ::waitid(P_PID, static_cast<id_t>(process), &status, WEXITED | WNOHANG | WNOWAIT) == 0;
  return !known || status.si_pid != 0;
}

// That ended a worker, or its child in a sandbox, which bwrap reports as shells do; 0: none.
inline int signal_in(int status) {
  constexpr int kByShells = 128;
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return code > kByShells && code < kByShells + NSIG ? code - kByShells : 0;
}

}  // namespace cleave::remote::server
