#include "remote/client/objects/callback_queue.h"

#include <csignal>
#include <new>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace cleave::remote::client {

void CallbackQueue::post(std::function<void()> function) {
  {
    const base::MutexLock lock(mutex_);
    if (!running_) {
      try {
        std::thread([this] { run(); }).detach();
        running_ = true;
      } catch (const std::system_error&) {
      }
    }
    if (running_) {
      pending_.push_back(std::move(function));
      changed_.notify_one();
      return;
    }
  }
  function();
}

void CallbackQueue::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) {
    base::MutexLock lock(mutex_);
    while (pending_.empty()) changed_.wait(lock);
    std::function<void()> function = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    function();
  }
}

void CallbackQueue::reset_in_child() {
  new (&changed_) base::CondVar;  // the old one counts threads of the parent
  pending_.clear();
  running_ = false;
}

}  // namespace cleave::remote::client
