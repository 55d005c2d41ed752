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
    const std::scoped_lock lock(mutex_);
    if (!running_) {
      try {
        std::thread([this] { run(); }).detach();
        running_ = true;
      } catch (const std::system_error&) {
      }
    }
    if (running_) {
      waiting_.push_back(std::move(function));
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
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    std::function<void()> function = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    function();
  }
}

void CallbackQueue::reset_in_child() {
  new (&changed_) std::condition_variable;  // the old one counts threads that are not here
  waiting_.clear();
  running_ = false;
  mutex_.unlock();
}

}  // namespace cleave::remote::client
