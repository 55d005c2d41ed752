// The helper queues that pipelined launches use in addition to the program's queue.
//
// They belong to a context and a device and are created when a launch first needs them: at most launch::kMaxHelpers,
// whatever number of queues the program has there. They are released with the last of the program's queues that has
// used any, so they never keep a context alive after the program has released it. From then on none is created.
//
// A helper is an in-order queue: commands on it wait for earlier ones. A launch must not wait for another launch that
// it would not wait for natively, since the program may be about to do what that one waits for (flush a queue, set a
// user event). So a helper is leased
//   - to the in-order queue that used it last, at any time: launches there wait for each other anyway;
//   - to any other queue only when all commands on it have ended.
// A launch that gets no helper uses the program's queue alone. No helper is created within an event callback, where
// OpenCL leaves that undefined.
//
// Thread-safe. The lock is not held while a driver is called.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <span>
#include <vector>

#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "base/threads/light_mutex.h"
#include "interpose/state/held_handles.h"
#include "interpose/state/queue_template.h"
#include "launch/event.h"
#include "launch/pipeline.h"

namespace cleave::interpose {

class HelperQueues {
  struct Helper {
    QueueTemplate queue_template;
    cl_command_queue queue = nullptr;
    cl_command_queue last_user = nullptr;  // a queue of the program
    launch::Event newest;                  // of the newest command; empty: all have ended
    bool leased = true;
    bool unusable = false;            // it is unknown when its commands end
    bool in_reference_count = false;  // the driver counts this queue among the context's references
  };

 public:
  HelperQueues(base::ForkLocks& forks, const Table& next, RecordMap<HeldRecord>& contexts)
      : next_(next), contexts_(contexts) {
    forks.add(base::ForkOrder::helper_queues, mutex_);
  }
  HelperQueues(const HelperQueues&) = delete;
  HelperQueues& operator=(const HelperQueues&) = delete;

  // Helpers for the duration of one launch, returned by the destructor.
  class Lease {
   public:
    explicit Lease(HelperQueues& from) : from_(from) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

    [[nodiscard]] std::span<launch::Lane> lanes() { return {lanes_.data(), count_}; }
    // There are none because the driver refused to create any.
    [[nodiscard]] bool refused() const { return count_ == 0 && refused_; }

   private:
    friend class HelperQueues;
    void add(Helper& helper);

    HelperQueues& from_;
    cl_command_queue last_user_ = nullptr;
    std::array<launch::Lane, launch::kMaxHelpers> lanes_;
    std::array<Helper*, launch::kMaxHelpers> helpers_{};
    std::size_t count_ = 0;
    bool refused_ = false;
  };

  // Helpers to be released by the destructor.
  class Retired {
   public:
    explicit Retired(const Table& next) : next_(next) {}
    Retired(const Retired&) = delete;
    Retired& operator=(const Retired&) = delete;
    ~Retired();

   private:
    friend class HelperQueues;
    const Table& next_;
    std::list<Helper> helpers_;
  };

  // Adds up to `wanted_helpers` helpers to `lease` for a launch on `queue`, which is of the kind `queue_template`. There
  // may be fewer, or none. Each queue passed here must be passed to queue_released() later.
  void acquire(Lease& lease, cl_command_queue queue, const QueueTemplate& queue_template, bool in_order,
               std::size_t wanted_helpers) noexcept;

  // The program is about to release its last reference to `queue`. If no other queue uses the helpers, they are moved
  // to `retired`, which should live until the driver has released the queue: they may wait for commands that are
  // flushed only then.
  void queue_released(cl_command_queue queue, Retired& retired) noexcept;

  // How many of the driver's references to `context` are held by our helpers.
  cl_uint internal_references(cl_context context) noexcept;

 private:
  struct User {
    cl_command_queue queue;
    QueueTemplate queue_template;
  };

  // `follows`: the requesting queue used it last. Set under the lock, since another last user may be released.
  struct Candidate {
    Helper* helper = nullptr;
    bool follows = false;
  };
  using Candidates = std::array<Candidate, launch::kMaxHelpers>;

  static bool same_device(const QueueTemplate& a, const QueueTemplate& b) {
    return a.context == b.context && a.device == b.device;
  }
  void note_user(cl_command_queue queue, const QueueTemplate& queue_template) CLEAVE_REQUIRES(mutex_);
  std::size_t take_candidates(cl_command_queue queue, const QueueTemplate& queue_template, Candidates& found);
  bool is_usable(const Candidate& candidate, bool in_order) const;
  Helper* make(const QueueTemplate& queue_template, Lease& lease);
  cl_command_queue make_queue(const QueueTemplate& queue_template) const noexcept;
  cl_uint count_references(cl_context context) const noexcept;

  const Table& next_;
  RecordMap<HeldRecord>& contexts_;
  base::LightMutex mutex_;
  std::list<Helper> helpers_ CLEAVE_GUARDED_BY(mutex_);
  std::vector<User> users_ CLEAVE_GUARDED_BY(mutex_);
  std::vector<QueueTemplate> refused_
      CLEAVE_GUARDED_BY(mutex_);  // kinds that the driver has refused to create
};

}  // namespace cleave::interpose
