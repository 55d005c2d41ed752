// The helper queues on which pipelined launches put some of their slices, beside the program's own queues.
//
// They belong to a context and a device, and are made when a launch first needs them: at most
// launch::kMaxHelpers of them, whatever number of queues the program has there. They are released with the
// last of the program's queues that has used any, so that they never keep a context alive that the program
// has done with.
//
// A helper is an in-order queue: what is enqueued on it waits for what is there already. That must never make
// a launch wait for another one that it would not wait for natively, since the program may be about to do
// what the other one waits for (flush a queue, set an event). So a helper is lent
//   - to an in-order queue of the program that was the last to use it, at any time: its launches wait for
//   each
//     other anyway;
//   - to all others only when everything on it has ended.
// A launch that gets none goes over the program's queue alone. None are made within a callback for an event,
// where OpenCL leaves making a queue undefined: a launch there has to do with those that there are.
//
// Thread-safe. The lock is not held while a driver is called.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "base/opencl.h"
#include "launch/event.h"
#include "launch/pipeline.h"

namespace cleave::interpose {

// What a helper has in common with the program's queue, and how such a queue is made.
struct QueueTemplate {
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  bool profiling = false;
  // Made with clCreateCommandQueueWithProperties; drivers for OpenCL 1.x do not have that.
  bool with_properties = false;
  // CL_QUEUE_PRIORITY_KHR and CL_QUEUE_THROTTLE_KHR; 0 where not given.
  cl_queue_properties priority = 0;
  cl_queue_properties throttle = 0;

  bool operator==(const QueueTemplate&) const = default;
};

class HelperQueues {
  struct Helper {
    QueueTemplate queue_template;
    cl_command_queue queue = nullptr;
    cl_command_queue last_user = nullptr;  // the program's queue that was the last to use it
    launch::Event newest;                  // of the newest command there; empty: all has ended
    bool leased = true;
    bool unusable = false;  // nobody can tell when its commands end
    bool in_reference_count =
        false;  // the context's reference count, as the driver tells it, has this queue in it
  };

 public:
  explicit HelperQueues(const Table& next) : next_(next) {}
  HelperQueues(const HelperQueues&) = delete;
  HelperQueues& operator=(const HelperQueues&) = delete;

  // Helpers for the length of one launch; given back by itself.
  class Lease {
   public:
    explicit Lease(HelperQueues& from) : from_(from) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

    [[nodiscard]] std::span<launch::Lane> lanes() { return {lanes_.data(), count_}; }
    // There are none, since the driver makes no such queues.
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

  // Helpers that are to be released.
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

  // Fills `lease` with up to `wanted_slices` helpers for a launch on `queue`, which is one of `queue_template`'s kind. There
  // may be fewer, or none. Each queue that has come here must be reported to queue_released().
  void acquire(Lease& lease, cl_command_queue queue, const QueueTemplate& queue_template, bool in_order,
               std::size_t wanted_slices) noexcept;

  // The program gives back its last reference to `queue`. Where that was the last queue to need them, the
  // helpers go to `retired`, which should live until the driver has released the queue: some may wait for
  // what is still to be flushed there.
  void queue_released(cl_command_queue queue, Retired& retired) noexcept;

  // How many references to `context` that a driver tells of are not the program's doing.
  cl_uint internal_references(cl_context context) noexcept;

  // For fork(): nobody is inside meanwhile.
  std::mutex& lock() { return mutex_; }

 private:
  struct User {
    cl_command_queue queue;
    QueueTemplate queue_template;
  };

  // `follows`: the queue that it is for was the last to use it. Looked up under the lock, since another queue
  // that was may go at any time.
  struct Candidate {
    Helper* helper = nullptr;
    bool follows = false;
  };
  using Candidates = std::array<Candidate, launch::kMaxHelpers>;

  static bool same_device(const QueueTemplate& a, const QueueTemplate& b) {
    return a.context == b.context && a.device == b.device;
  }
  void note_user(cl_command_queue queue, const QueueTemplate& queue_template);
  std::size_t take_candidates(cl_command_queue queue, const QueueTemplate& queue_template, Candidates& found);
  bool is_usable(const Candidate& candidate, bool in_order) const;
  Helper* make(const QueueTemplate& queue_template, Lease& lease);
  cl_command_queue make_queue(const QueueTemplate& queue_template) const noexcept;
  cl_uint count_references(cl_context context) const noexcept;

  const Table& next_;
  std::mutex mutex_;
  std::list<Helper> helpers_;
  std::vector<User> users_;
  std::vector<QueueTemplate> refused_;  // the driver has refused to make a queue of this kind
};

}  // namespace cleave::interpose
