// Keeps locks held across fork(), so that a child never inherits a lock that is held by a thread it does not have.
//
// Every object with a lock registers it when the object is created, with its place in the lock order (docs/locks.md).
// Before a fork all registered locks are taken in that order, and afterwards they are released in reverse.
//
// Not thread-safe: add() is called during start-up, the other functions by the handlers of one fork at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/thread_annotations.h"

namespace cleave::base {

// The order in which the locks are taken. A thread that holds one of them may only take later ones.
enum class ForkOrder : std::uint8_t {
  neighbours,
  tracer,
  device_times,
  traced_events,
  trace_file,
  probe_cache,
  known_binaries,
  helper_queues,
  counters,
  programs,
  kernels,
  queues,
  split_events,
  user_events,
  measured_events,
  launch_timers,
  costs,
};

class ForkLocks {
 public:
  // Registers `lockable`, which has lock() and unlock(). It must outlive this object's last fork.
  template <typename Lockable>
  void add(ForkOrder order, Lockable& lockable) {
    insert({order, &lockable, lock<Lockable>, unlock<Lockable>, unlock<Lockable>});
  }

  // Registers `object`, which does more in the child than release its locks: it has before_fork(),
  // after_fork_in_parent() and after_fork_in_child().
  template <typename Object>
  void add_hooks(ForkOrder order, Object& object) {
    insert({order, &object, lock_hook<Object>, parent_hook<Object>, child_hook<Object>});
  }

  void before_fork() {
    for (const Entry& each : entries_) each.lock(each.object);
  }
  void after_fork_in_parent() {
    for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) each->in_parent(each->object);
  }
  void after_fork_in_child() {
    for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) each->in_child(each->object);
  }

 private:
  using Function = void (*)(void*);
  struct Entry {
    ForkOrder order;
    void* object;
    Function lock;
    Function in_parent;
    Function in_child;
  };

  // The analysis cannot follow locks that one function takes and another one releases.
  template <typename Lockable>
  static void lock(void* self) CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    static_cast<Lockable*>(self)->lock();
  }
  template <typename Lockable>
  static void unlock(void* self) CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    static_cast<Lockable*>(self)->unlock();
  }
  template <typename Object>
  static void lock_hook(void* self) CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    static_cast<Object*>(self)->before_fork();
  }
  template <typename Object>
  static void parent_hook(void* self) CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    static_cast<Object*>(self)->after_fork_in_parent();
  }
  template <typename Object>
  static void child_hook(void* self) CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    static_cast<Object*>(self)->after_fork_in_child();
  }

  void insert(const Entry& added) {
    const auto before = [](const Entry& a, const Entry& b) { return a.order < b.order; };
    entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), added, before), added);
  }

  std::vector<Entry> entries_;
};

}  // namespace cleave::base
