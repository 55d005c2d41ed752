// Suppresses SIGPIPE in the calling thread for the length of a scope: writing to standard error, or to a file
// without a reader, must not end the program. A SIGPIPE that our writing raised is consumed; one that was
// pending before stays pending, and the program's signal handling is not changed. errno stays as it was.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace cleave::base {

class ScopedIgnoreSigpipe {
 public:
  ScopedIgnoreSigpipe() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ScopedIgnoreSigpipe(const ScopedIgnoreSigpipe&) = delete;
  ScopedIgnoreSigpipe& operator=(const ScopedIgnoreSigpipe&) = delete;
  ~ScopedIgnoreSigpipe() {
    const int error = errno;  // why the writing failed
    const timespec no_wait{};
    if (!was_pending_) sigtimedwait(&sigpipe_, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t sigpipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace cleave::base
