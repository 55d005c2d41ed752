// Mutexes that Clang's thread-safety analysis understands (thread_annotations.h), over the standard library's. Each
// mutex guards members that are marked with CLEAVE_GUARDED_BY; the order in which mutexes are taken is docs/locks.md.
//
//   base::Mutex mutex_;
//   int count_ CLEAVE_GUARDED_BY(mutex_) = 0;
//   ...
//   const base::MutexLock lock(mutex_);
//   ++count_;
//
// Cost: that of the standard types. No allocation. Errors: as in the standard library, which throws std::system_error
// only for misuse.
#pragma once

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/threads/thread_annotations.h"

namespace cleave::base {

class CLEAVE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() CLEAVE_ACQUIRE() { native_.lock(); }
  void unlock() CLEAVE_RELEASE_LOCK() { native_.unlock(); }
  bool try_lock() CLEAVE_TRY_ACQUIRE(true) { return native_.try_lock(); }

  // Tells the analysis that the mutex is held where it cannot see that, for example behind a pointer or in a callback.
  void assert_held() const CLEAVE_ASSERT_HELD() {}

 private:
  friend class CondVar;
  std::mutex native_;
};

// May be locked again by the thread that holds it; must be unlocked as often as it was locked.
class CLEAVE_CAPABILITY("mutex") RecursiveMutex {
 public:
  RecursiveMutex() = default;
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;

  void lock() CLEAVE_ACQUIRE() { native_.lock(); }
  void unlock() CLEAVE_RELEASE_LOCK() { native_.unlock(); }
  bool try_lock() CLEAVE_TRY_ACQUIRE(true) { return native_.try_lock(); }

 private:
  std::recursive_mutex native_;
};

// Holds a mutex for its own lifetime, except between unlock() and lock().
template <typename Lockable>
class CLEAVE_SCOPED_CAPABILITY BasicLock {
 public:
  explicit BasicLock(Lockable& mutex) CLEAVE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Takes over a mutex that the caller has locked.
  BasicLock(Lockable& mutex, std::adopt_lock_t) CLEAVE_REQUIRES(mutex) : mutex_(mutex) {}
  ~BasicLock() CLEAVE_RELEASE_LOCK() {
    if (held_) mutex_.unlock();
  }
  BasicLock(const BasicLock&) = delete;
  BasicLock& operator=(const BasicLock&) = delete;

  // Requires: held / not held.
  void unlock() CLEAVE_RELEASE_LOCK() {
    assert(held_);
    held_ = false;
    mutex_.unlock();
  }
  void lock() CLEAVE_ACQUIRE() {
    assert(!held_);
    mutex_.lock();
    held_ = true;
  }

 private:
  friend class CondVar;
  Lockable& mutex_;
  bool held_ = true;
};

using MutexLock = BasicLock<Mutex>;
using RecursiveMutexLock = BasicLock<RecursiveMutex>;

// A condition variable for `Mutex`. The waiting functions release the mutex meanwhile and may return without a
// notification, so callers wait in a loop:  while (!ready_) changed_.wait(lock);
class CondVar {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  // Requires: `lock` holds its mutex.
  void wait(MutexLock& lock) {
    Adopted native(lock);
    changed_.wait(native.lock);
  }

  // Returns false if the time has come without a notification.
  template <typename Clock, typename Duration>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    Adopted native(lock);
    return changed_.wait_until(native.lock, time) == std::cv_status::no_timeout;
  }
  template <typename Rep, typename Period>
  bool wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& duration) {
    Adopted native(lock);
    return changed_.wait_for(native.lock, duration) == std::cv_status::no_timeout;
  }

 private:
  // The standard type that std::condition_variable requires, over a mutex that the caller keeps.
  struct Adopted {
    explicit Adopted(MutexLock& held) : lock(held.mutex_.native_, std::adopt_lock) { assert(held.held_); }
    ~Adopted() { lock.release(); }
    Adopted(const Adopted&) = delete;
    Adopted& operator=(const Adopted&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

}  // namespace cleave::base
