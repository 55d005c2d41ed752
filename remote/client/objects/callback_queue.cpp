#include "remote/client/objects/callback_queue.h"

#include <new>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"

namespace cleave::remote::client {

void CallbackQueue::post(std::function<void()> function) { add({std::move(function), 0}); }

void CallbackQueue::post_or_lose(std::function<void()> function, std::size_t bytes) {
  add({std::move(function), bytes + sizeof(Waiting)});
}

void CallbackQueue::add(Waiting one) {
  {
    base::MutexLock lock(mutex_);
    if (one.bytes != 0 && waiting_bytes_ > kMostWaiting) {
      const bool is_first = !std::exchange(has_lost_, true);
      lock.unlock();
      if (is_first) base::log_line("errors of contexts are lost: too many wait for the program's callbacks");
      return;
    }
    if (!running_) {
      try {
        std::thread([this] { run(); }).detach();
        running_ = true;
      } catch (const std::system_error&) {
      }
    }
    if (running_) {
      waiting_bytes_ += one.bytes;
      pending_.push_back(std::move(one));
      changed_.notify_one();
      return;
    }
  }
  one.function();
}

void CallbackQueue::use_signals_of_this_thread() {
  const base::MutexLock lock(mutex_);
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
}

void CallbackQueue::run() {
  const base::ScopedSignalBlock blocked;
  sigset_t between;
  pthread_sigmask(SIG_SETMASK, nullptr, &between);
  for (;;) {
    base::MutexLock lock(mutex_);
    while (pending_.empty()) changed_.wait(lock);
    const Waiting next = std::move(pending_.front());
    pending_.pop_front();
    waiting_bytes_ -= next.bytes;
    const sigset_t signals = signals_;
    lock.unlock();
    pthread_sigmask(SIG_SETMASK, &signals, nullptr);
    next.function();
    pthread_sigmask(SIG_SETMASK, &between, nullptr);
  }
}

void CallbackQueue::reset_in_child() {
  new (&changed_) base::CondVar;  // the old one counts threads of the parent
  pending_.clear();
  waiting_bytes_ = 0;
  running_ = false;
}

}  // namespace cleave::remote::client
