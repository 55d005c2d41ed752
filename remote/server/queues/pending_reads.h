// The reads of all queues whose data has not been sent to the client.
//
// A client may know that a command on one queue comes after a read on another one: it waited for an event behind the read,
// or for a finish behind that. When it hears that the command has ended, it uses the data. So before the server reports any
// end, it sends the data of all reads that have ended, in the order in which they were enqueued: the first message that the
// client gets may be all that it waited for.
//
// Thread-safe. The driver may hold a lock of its own while it calls back, and it is queried with locks of ours held. So
// callbacks take none of these locks; they have reads reported by the worker thread (run_on_worker).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/opencl.h"
#include "base/threads/mutex.h"
#include "remote/server/memory/staging.h"
#include "remote/server/queues/event_reference.h"
#include "remote/server/sending/events_frame.h"
#include "remote/server/sending/outbox.h"

namespace cleave::remote::server {

// A command of the driver's, which may be one of several parts of a command of the client's.
struct CommandPart {
  EventReference event;  // empty: a finish or a failure, which ends when all earlier commands have ended
  EventReference first;  // of several parts: where profiling begins, and whose failure is the failure of all
  std::uint32_t request = 0;  // not 0: an Answer is sent, with the data of a read
  std::uint64_t at = 0;       // offset of a part's data in the read
  bool more = false;          // other parts follow
  Block data;                 // empty: it is in shared memory
  // What has to live until the end: the pinning of memory that the command uses, or arrays that were passed to the
  // driver. A driver should copy these, but NVIDIA's keeps the pointer of clEnqueueMigrateMemObjects while the command
  // waits for a user event.
  std::shared_ptr<const void> kept;
};

// A read, or a part of one, and the answer that it gets when it has ended.
struct PendingRead : CommandPart {
  std::uint64_t number =
      0;                  // the order of enqueuing. This and the next two are used with PendingReads' locks
  bool ended = false;     // the driver has reported the end
  bool answered = false;  // the answer is in a frame
  std::atomic<bool> sent{false};  // the frame has been sent
};

class PendingReads {
 public:
  PendingReads(const Table& cl, Outbox& outbox) : cl_(cl), outbox_(outbox) {}
  PendingReads(const PendingReads&) = delete;
  PendingReads& operator=(const PendingReads&) = delete;
  ~PendingReads();

  // Registers a read that has been enqueued. Reads of an in-order queue are registered in their order.
  void register_read(std::uint64_t queue, bool in_order, const std::shared_ptr<PendingRead>& read);

  [[nodiscard]] bool has_unsent() const { return unsent_.load(std::memory_order_acquire) != 0; }

  // Returns when the data of all reads that had ended before the call has been sent. If all of them are of the caller's own
  // in-order queue, nothing is sent: the caller reports them in order with its other commands.
  void send_ended(std::uint64_t own_queue);

  // The answers of several reads, while a queue reports its commands. At most one exists at a time; it ends when its frames
  // have been sent.
  class CLEAVE_SCOPED_CAPABILITY AnswerBatch {
   public:
    explicit AnswerBatch(PendingReads& reads) CLEAVE_ACQUIRE(reads.sending_mutex_) : reads_(reads) {
      reads_.sending_mutex_.lock();
    }
    AnswerBatch(const AnswerBatch&) = delete;
    AnswerBatch& operator=(const AnswerBatch&) = delete;
    ~AnswerBatch() CLEAVE_RELEASE_LOCK();
    // Adds the read's answer to the frame unless it has been answered.
    void add(PendingRead& read, EventsFrame& frame);

   private:
    PendingReads& reads_;
    std::size_t count_ = 0;
    // Released after the lock: releasing an event calls the driver.
    std::vector<std::shared_ptr<PendingRead>> answered_;
  };

  // Calls `function` on the worker thread, one after the other.
  void run_on_worker(std::function<void()> function);

 private:
  using ReadList = std::vector<std::shared_ptr<PendingRead>>;
  struct QueueReads {
    bool in_order = true;
    std::deque<std::shared_ptr<PendingRead>> reads;
  };

  [[nodiscard]] cl_int status(const PendingRead& read) const;
  [[nodiscard]] ReadList ended(std::uint64_t own_queue);
  [[nodiscard]] ReadList take_answered();
  void run_tasks();

  const Table& cl_;
  Outbox& outbox_;
  std::atomic<std::size_t> unsent_{0};

  base::Mutex sending_mutex_ CLEAVE_ACQUIRED_BEFORE(mutex_);  // held while data is sent
  base::Mutex mutex_;
  std::map<std::uint64_t, QueueReads> queues_ CLEAVE_GUARDED_BY(mutex_);  // by the queue's id
  std::uint64_t registered_ CLEAVE_GUARDED_BY(mutex_) = 0;

  base::Mutex tasks_mutex_;
  base::CondVar tasks_changed_;
  std::deque<std::function<void()>> tasks_ CLEAVE_GUARDED_BY(tasks_mutex_);
  bool stopping_ CLEAVE_GUARDED_BY(tasks_mutex_) = false;
  std::thread worker_;  // started by the first task; joined by the destructor
};

}  // namespace cleave::remote::server
