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

#include "base/threads/thread_annotations.h"

namespace cleave::base {

// The order in which the locks of one library are taken. A thread that holds one of them may only take later ones.
enum class ForkOrder : std::uint8_t {
  // The interposer.
  neighbours,
  registry_entry,
  feeder,
  turn_devices,
  device_turn,
  turns,
  tracer,
  device_times,
  traced_events,
  trace_file,
  devices,
  probe_cache,
  known_binaries,
  helper_queues,
  counters,
  kernel_findings,
  contexts,
  sub_devices,
  programs,
  kernels,
  queues,
  split_events,
  user_events,
  measured_events,
  launch_timers,
  costs,
  memory_limits,
  counted_objects,
  // The remote client, after the mutex of its initialisation (remote/client/library/startup.cpp).
  servers,
  device_infos,
  callbacks,
  internal_callbacks,
  migrations,
  copy_threads,
  client_trace,
  // Libraries with handles of their own.
  objects,
  shared_virtual_memory,
};

class ForkLocks {
 public:
  // Registers `lockable`, which has lock() and unlock(). It must outlive this object's last fork.
  template <typename Lockable>
  void add(ForkOrder order, Lockable& lockable) {
    insert({order, &lockable, lock<Lockable>, unlock<Lockable>});
  }

  // The same. In the child `kInChild`, a member function of `owner`, is called before the lock is released.
  template <auto kInChild, typename Lockable, typename Owner>
  void add(ForkOrder order, Lockable& lockable, Owner& owner) {
    insert({order, &lockable, lock<Lockable>, unlock<Lockable>, &owner, call<kInChild, Owner>});
  }

  void before_fork() {
    for (const Entry& each : entries_) each.lock(each.lockable);
  }
  void after_fork_in_parent() {
    for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) each->unlock(each->lockable);
  }
  void after_fork_in_child() {
    for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) {
      if (each->in_child != nullptr) each->in_child(each->owner);
      each->unlock(each->lockable);
    }
  }

 private:
  using Function = void (*)(void*);
  struct Entry {
    ForkOrder order;
    void* lockable;
    Function lock;
    Function unlock;
    void* owner = nullptr;
    Function in_child = nullptr;
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
  template <auto kFunction, typename Owner>
  static void call(void* self) CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    (static_cast<Owner*>(self)->*kFunction)();
  }

  void insert(const Entry& added) {
    const auto before = [](const Entry& a, const Entry& b) { return a.order < b.order; };
    entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), added, before), added);
  }

  std::vector<Entry> entries_;
};

}  // namespace cleave::base
