#include "interpose/launch/feeder.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/threads/scoped_thread_state.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestExit = 1s;
constexpr auto kSoon = 1ms;

}  // namespace

Feeder::Feeder(base::ForkLocks& forks, Gates& gates) : gates_(gates) {
  forks.add<&Feeder::reset_in_child>(base::ForkOrder::feeder, mutex_, *this);
}

Feeder::~Feeder() {
  std::unique_ptr<std::thread> thread;
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
    wakes_.notify_all();
    thread = std::move(thread_);
  }
  if (thread) thread->join();
}

// The parent's launch is not this process's, and the thread does not run here.
void Feeder::reset_in_child() noexcept {
  static_cast<void>(task_.release());
  static_cast<void>(thread_.release());
  // The parent's threads waited on them.
  new (&wakes_) base::CondVar;
  new (&changed_) base::CondVar;
  feeding_ = busy_ = false;
  answer_ = nullptr;
  served_by_ = pthread_t{};
}

bool Feeder::has_thread() {
  if (thread_) return true;
  const base::ScopedSignalBlock blocked;
  thread_ = std::make_unique<std::thread>([this] { serve(); });
  return true;
}

std::optional<cl_int> Feeder::run(cl_command_queue queue, cl_kernel kernel,
                                  std::unique_ptr<Task> task) noexcept try {
  base::MutexLock lock(mutex_);
  // The thread may not be done yet with the launch before, for which this one has waited at the gate.
  while (busy_) {
    if (queue_ != queue || pthread_equal(caller_, pthread_self()) == 0) return std::nullopt;
    changed_.wait(lock);
  }
  if (stopped_ || !has_thread()) return std::nullopt;
  failures_.reserve(failures_.size() + 1);  // so that none is lost for want of memory
  std::optional<cl_int> answer;
  answer_ = &answer;
  task_ = std::move(task);
  queue_ = queue;
  kernel_ = kernel;
  caller_ = pthread_self();
  ++number_;
  busy_ = true;
  wakes_.notify_one();
  while (!answer) changed_.wait(lock);
  return answer;
} catch (...) {  // no thread, or no memory
  return std::nullopt;
}

void Feeder::serve() noexcept {
  served_by_ = pthread_self();
  const base::ScopedCancelDisable uncancelled;  // the program is called back here
  base::MutexLock lock(mutex_);
  for (;;) {
    while (!task_ && !ending_) wakes_.wait(lock);
    if (!task_) return;
    run(std::move(task_));
  }
}

void Feeder::run(std::unique_ptr<Task> task) noexcept {
  Caller caller(*this, caller_);
  cl_command_queue const queue = queue_;
  mutex_.unlock();
  const cl_int error = task->run(caller);
  task.reset();
  mutex_.lock();
  if (answer_ != nullptr) {
    *std::exchange(answer_, nullptr) = error;
  } else if (error != CL_SUCCESS) {
    failures_.push_back({queue, error});
    has_errors_ = true;
  }
  feeding_ = busy_ = false;
  changed_.notify_all();
}

void Feeder::accept() noexcept {
  const base::MutexLock lock(mutex_);
  if (answer_ == nullptr) return;
  *std::exchange(answer_, nullptr) = CL_SUCCESS;
  feeding_ = true;
  changed_.notify_all();
}

void Feeder::wait(bool urgently) noexcept {
  if (pthread_equal(served_by_, pthread_self()) != 0) return;
  const base::ScopedCancelDisable uncancelled;
  base::MutexLock lock(mutex_);
  const std::uint64_t number = number_;
  while (busy_ && number_ == number) {
    Gate& gate = gates_.of(queue_);
    lock.unlock();
    urgently ? gate.pass_urgently() : gate.pass();
    lock.lock();
    // It is open, since the thread has yet to close it or is about to be done.
    if (busy_ && number_ == number) changed_.wait_for(lock, kSoon);
  }
}

cl_int Feeder::settle_busy(cl_command_queue queue) noexcept {
  if (feeds(queue)) wait();
  return has_errors_.load(std::memory_order_relaxed) ? take_error(queue) : CL_SUCCESS;
}

cl_int Feeder::take_error(cl_command_queue queue) noexcept {
  const base::MutexLock lock(mutex_);
  const auto found = std::find_if(failures_.begin(), failures_.end(),
                                  [queue](const Failure& each) { return each.queue == queue; });
  if (found == failures_.end()) return CL_SUCCESS;
  const cl_int error = found->error;
  failures_.erase(found);
  has_errors_ = !failures_.empty();
  return error;
}

void Feeder::stop() noexcept {
  {
    const base::MutexLock lock(mutex_);
    stopped_ = true;
  }
  wait(true);
}

void Feeder::end() noexcept {
  if (pthread_equal(served_by_, pthread_self()) != 0) return;
  const auto until = std::chrono::steady_clock::now() + kLongestExit;
  base::MutexLock lock(mutex_);
  stopped_ = true;
  while (busy_ && changed_.wait_until(lock, until)) {
  }
}

}  // namespace cleave::interpose
