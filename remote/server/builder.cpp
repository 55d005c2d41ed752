#include "remote/server/builder.h"

#include <utility>

namespace cleave::remote::server {

Builder::~Builder() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Builder::run(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(work));
    if (idle_ < waiting_.size() && threads_.size() < kMostThreads) {
      threads_.emplace_back([this] { this->work(); });
    }
  }
  wake_.notify_one();
  return true;
}

bool Builder::is_busy() {
  const std::scoped_lock lock(mutex_);
  return !waiting_.empty() || idle_ < threads_.size();
}

void Builder::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next();
    lock.lock();
  }
}

}  // namespace cleave::remote::server
