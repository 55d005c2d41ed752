// The reads of all queues whose data the client has not been sent.
//
// A client may know of a command on one queue that it came after a read on another one: it waited for an
// event behind the read, or for a finish behind that. When it hears that the command has ended, it looks at
// what was read. So whoever tells the client that anything has ended sends the data of all reads that have
// ended first, in the order in which they were enqueued: the first that the client hears of may be all that
// it waited for.
//
// Thread-safe. The driver may hold a lock of its own while it calls back, and is asked while we hold ours. So
// who is called back takes none of ours: it tells of reads elsewhere (apart).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/opencl.h"
#include "remote/server/memory/staging.h"
#include "remote/server/queues/event_reference.h"
#include "remote/server/session/events_frame.h"
#include "remote/server/session/outbox.h"

namespace cleave::remote::server {

// The answer that a read gets at its end; one of several if there is `more`.
struct PendingRead {
  EventReference event;
  EventReference first;  // of several parts
  std::uint32_t request = 0;
  std::uint64_t at = 0;  // where the data belongs in the whole of it
  bool more = false;
  Block data;                     // empty where it is in shared memory
  std::uint64_t number = 0;       // Reads' alone: in the order in which they were enqueued,
  bool ended = false;             // whether that has been seen,
  bool answered = false;          // and told
  std::atomic<bool> sent{false};  // what was told
};

class PendingReads {
 public:
  PendingReads(const Table& cl, Outbox& outbox) : cl_(cl), outbox_(outbox) {}
  PendingReads(const PendingReads&) = delete;
  PendingReads& operator=(const PendingReads&) = delete;
  ~PendingReads();

  // A read that has been enqueued. Those of one queue that is in order come in their order.
  void register_read(std::uint64_t queue, bool in_order, const std::shared_ptr<PendingRead>& read);

  // Whether there are some that have not been told.
  [[nodiscard]] bool has_unsent() const { return unsent_.load(std::memory_order_acquire) != 0; }

  // Returns when the data of all that had ended before the call has been sent; if it is all of a queue which
  // is in order and has the caller for its own, it is left to that: there it has its place among other news.
  void send_ended(std::uint64_t own_queue);

  // While a queue tells its news, reads among them, nobody else tells of reads. Ends when these have been
  // sent.
  class AnswerBatch {
   public:
    explicit AnswerBatch(PendingReads& reads) : reads_(reads), lock_(reads.sending_) {}
    AnswerBatch(const AnswerBatch&) = delete;
    AnswerBatch& operator=(const AnswerBatch&) = delete;
    ~AnswerBatch();
    // The read's answer, unless it was told.
    void add(PendingRead& read, EventsFrame& frame);

   private:
    PendingReads& reads_;
    std::size_t count_ = 0;
    std::vector<std::shared_ptr<PendingRead>> answered_;  // goes after the lock: the driver has a share in it
    std::unique_lock<std::mutex> lock_;
  };

  // Calls `function` on a thread of our own, one after the other.
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

  // Taken in this order. Nobody who is called back by the driver takes one.
  std::mutex sending_;  // while data is sent
  std::mutex mutex_;
  std::map<std::uint64_t, QueueReads> queues_;  // by queue
  std::uint64_t registered_ = 0;

  std::mutex tasks_mutex_;
  std::condition_variable tasks_changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace cleave::remote::server
