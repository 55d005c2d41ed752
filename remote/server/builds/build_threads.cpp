#include "remote/server/builds/build_threads.h"

#include <utility>

namespace cleave::remote::server {

BuildThreads::~BuildThreads() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool BuildThreads::run(std::function<void()> work) {
  {
    const base::MutexLock lock(mutex_);
    if (queued_.size() >= kMaxQueued) return false;
    queued_.push_back(std::move(work));
    if (idle_ < queued_.size() && threads_.size() < kMaxThreads) {
      threads_.emplace_back([this] { this->work(); });
    }
  }
  wake_.notify_one();
  return true;
}

bool BuildThreads::is_busy() {
  const base::MutexLock lock(mutex_);
  return !queued_.empty() || idle_ < threads_.size();
}

void BuildThreads::work() {
  base::MutexLock lock(mutex_);
  while (true) {
    ++idle_;
    while (!stopping_ && queued_.empty()) wake_.wait(lock);
    --idle_;
    if (queued_.empty()) return;
    const std::function<void()> next = std::move(queued_.front());
    queued_.pop_front();
    lock.unlock();
    next();
    lock.lock();
  }
}

}  // namespace cleave::remote::server
