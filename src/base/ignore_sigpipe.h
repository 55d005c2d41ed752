// A program may live on when nobody reads its standard error, or our statistics, any more. What we write
// there must not kill it, and must not change what it does about signals either.
//
// While an object of this class lives, its thread gets no SIGPIPE; one that our writing caused is taken away.
#pragma once

#include <csignal>
#include <ctime>

namespace cleave::base {

class ScopedIgnoreSigpipe {
 public:
  ScopedIgnoreSigpipe() {
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
  }
  ScopedIgnoreSigpipe(const ScopedIgnoreSigpipe&) = delete;
  ScopedIgnoreSigpipe& operator=(const ScopedIgnoreSigpipe&) = delete;
  ~ScopedIgnoreSigpipe() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&broken_pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t broken_pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace cleave::base
