#include "remote/server/builder.h"

#include <thread>
#include <utility>

namespace cleave::remote::server {

bool Builder::run(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(work));
    if (idle_ < waiting_.size() && threads_ < kMostThreads) {
      ++threads_;
      std::thread([this] { this->work(); }).detach();
    }
  }
  wake_.notify_one();
  return true;
}

void Builder::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return !waiting_.empty(); });
    --idle_;
    const std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next();
    lock.lock();
  }
}

}  // namespace cleave::remote::server
