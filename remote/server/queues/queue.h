// A command queue of the client's and the commands in flight on it: who has to be informed of their ends, and the memory
// that they need until then.
//
// An in-order queue has a watcher thread that waits for its commands in their order, with the driver's own wait. A command
// on an out-of-order queue has a callback. So no wait on one queue delays another one, or the thread that reads from the
// client. Some drivers (PoCL) do not call back for a command that fails: once a user event has failed, commands with a
// callback are polled as well (callback_queue.cpp).
//
// Not each command of an in-order queue needs an event of the driver's: one without ends with the next one that has one
// (add_without_event). In some drivers events cost more than launches: each is made, queried and released.
//
// The end of a short command is seen by the reading thread itself (poll_awaited) while it has nothing else to do: that saves
// two thread wake-ups between the command and its answer.
//
// add(), add_without_event(), flush(), finish() and poll_awaited() are for the reading thread. The watcher thread is detached
// and holds a reference to the queue; it ends when the queue has stopped (stop_when_idle), or with the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/opencl.h"
#include "base/threads/mutex.h"
#include "remote/server/memory/pinned_reads.h"
#include "remote/server/memory/staging.h"
#include "remote/server/queues/event_reference.h"
#include "remote/server/queues/pending_reads.h"
#include "remote/server/sending/outbox.h"
#include "remote/transport/brief_spin.h"
#include "remote/transport/ring_slots.h"

namespace cleave::remote::server {

// A ring slot that a command uses. It is returned at the command's end by the first that knows of it: the reading
// thread (handlers/ring_transfers.cpp), the driver's callback, or the thread that reports the end, since some drivers
// (PoCL) do not call back for a command that has failed, and others call back late. It is returned only once: the
// client may already be using it again.
struct RingSlot {
  explicit RingSlot(std::uint32_t& the_word) : word(&the_word) {}
  void return_once() {
    if (!is_returned.exchange(true)) return_slot(*word);
  }
  [[nodiscard]] bool has_been_returned() const { return is_returned.load(std::memory_order_acquire); }

 private:
  std::uint32_t* word;
  std::atomic<bool> is_returned{false};
};

// A command in flight in the driver. One command of the client may consist of several of these; the last one `ends` it.
struct Pending : CommandPart {
  std::uint64_t event_id = 0;  // not 0: a Completion is sent
  bool is_read = false;
  std::uint64_t bytes = 0;            // of payload, which count as ended with it
  std::shared_ptr<RingSlot> slot;     // returned at the end
  bool ends = true;                   // the client's command ends with it
  std::uint64_t overhead = 0;         // of host memory that is kept until the end, in bytes
  std::uint64_t before = 0;           // set by the queue: commands without an event that end with it as well
  std::shared_ptr<PendingRead> read;  // set by the queue: the answer of a read, which another thread may send
  cl_int error = CL_SUCCESS;          // where the driver has not accepted it and there is no event

  static constexpr std::uint64_t kLargePayload = std::uint64_t{64} << 10U;

  // Whether the client waits for its end, or for the flow control window that it fills.
  [[nodiscard]] bool is_awaited() const { return event_id != 0 || request != 0 || bytes >= kLargePayload; }
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  struct QueueInfo {
    std::uint64_t id = 0;
    cl_command_queue handle = nullptr;
    bool in_order = true;
    bool profiling = false;
  };

  // As soon as this many ended commands or bytes have gathered, they are reported in a frame of their own.
  struct ReportThresholds {
    std::uint64_t commands = 0;
    std::uint64_t bytes = 0;
  };

  Queue(const Table& cl, Outbox& outbox, PendingReads& reads, const QueueInfo& info,
        const ReportThresholds& report_every)
      : cl_(cl),
        outbox_(outbox),
        reads_(reads),
        info_(info),
        profiling_(info.profiling),
        report_every_(report_every) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] const QueueInfo& info() const { return info_; }
  [[nodiscard]] cl_command_queue handle() const { return info_.handle; }
  // Memory that its commands use and that stays pinned for as long as the queue lives. For the reading thread.
  [[nodiscard]] bool has_pinned() const { return pinned_.has_value(); }
  [[nodiscard]] bool keeps_pinned() const { return pinned_.has_value() && *pinned_ != nullptr; }
  void keep_pinned(std::shared_ptr<const void> pinned) { pinned_ = std::move(pinned); }
  // The same for its small reads.
  [[nodiscard]] PinnedReads::OfQueue& small_reads() { return small_reads_; }
  void set_profiling(bool on) { profiling_.store(on, std::memory_order_relaxed); }

  // Adds a command that has been enqueued. `by_caller`: the caller will call poll_awaited() or resume_watcher() soon.
  enum class WaitedBy { by_watcher, by_caller };
  void add(Pending pending, WaitedBy waited_by = WaitedBy::by_watcher);

  // Counts a command that has been enqueued without an event, on an in-order queue. It ends with the command that is added
  // next, whose failure is taken for its own as well; so flush() has to come before a finish or the queue's end.
  void add_without_event(std::uint64_t overhead = 0) {
    ++without_event_;
    overhead_without_event_ += overhead;
  }
  [[nodiscard]] std::uint64_t without_event() const { return without_event_; }

  // Flushes the driver's queue, after a marker if the last command has no event. If the driver refuses the marker, that
  // command has failed.
  cl_int flush();

  // Answers the request when all commands that were added before have ended. Returns the driver's error, if any.
  cl_int finish(std::uint32_t request, WaitedBy waited_by = WaitedBy::by_watcher);

  // Polls for a short time and reports the awaited commands if they have ended. Otherwise, or as soon as is_wanted()
  // returns true, leaves them to the watcher.
  void poll_awaited(const std::function<bool()>& is_wanted);
  void resume_watcher();

  // Has all commands reported when they end, also the unawaited ones.
  void report_unawaited();

  // To be called when a user event has failed: commands that wait for it fail, possibly without a callback.
  void poll_for_failures();

  // Ends the watcher thread after the last command.
  void stop_when_idle();

  // The same, and releases the driver's queue then. Not before: some drivers block the release of a queue while its commands
  // run, and the calling thread has to read what these may be waiting for.
  void release_when_idle();

  // Waits until the queue has stopped. A worker process ends without it.
  void wait_until_stopped();

 private:
  struct PendingCallback;
  static constexpr std::chrono::microseconds kPollTime{100};

  void observe_last();
  void register_read(Pending& pending);
  void push(Pending pending, WaitedBy waited_by);
  void wake_watcher();
  [[nodiscard]] bool has_work() const CLEAVE_REQUIRES(mutex_);
  void end_poll();
  void watch();
  std::vector<Pending> take_batch();
  std::vector<Pending> take_awaited();
  void put_back(std::vector<Pending> batch);
  void wait_for(const std::vector<Pending>& batch);
  [[nodiscard]] static const Pending* last_with_event(const std::vector<Pending>& batch);
  void take_ended(std::vector<Pending>& batch);
  void report(std::vector<Pending>& ended);
  void send_completions(std::vector<Pending>& ended);
  void report_one(Pending& pending, EventsFrame& frame);
  cl_int add_with_callback(Pending pending);
  void start_failure_poll();
  void report_failed();
  [[nodiscard]] bool take_release_request();
  void release_on_worker();
  [[nodiscard]] std::optional<wire::Times> times(const Pending& pending) const;
  [[nodiscard]] cl_int status(const Pending& pending) const;
  [[nodiscard]] bool is_reported_by_last_part(const Pending& pending) const;

  const Table& cl_;
  Outbox& outbox_;
  PendingReads& reads_;
  const QueueInfo info_;
  std::atomic<bool> profiling_;
  const ReportThresholds report_every_;
  std::optional<std::shared_ptr<const void>> pinned_;  // null: nothing is to be pinned
  PinnedReads::OfQueue small_reads_;
  BriefSpin spin_{kPollTime};
  std::uint64_t without_event_ = 0;  // commands since the last one with an event; the reading thread's
  std::uint64_t overhead_without_event_ = 0;  // what they keep

  base::Mutex mutex_;
  base::CondVar wake_;   // of the watcher
  base::CondVar ended_;  // the watcher or the failure poll
  std::deque<Pending> pending_ CLEAVE_GUARDED_BY(mutex_);
  std::size_t awaited_ CLEAVE_GUARDED_BY(mutex_) = 0;  // of those in pending_
  bool watcher_running_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool batch_taken_ CLEAVE_GUARDED_BY(mutex_) =
      false;  // the watcher or poll_awaited() waits for commands it has taken
  bool stopping_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool release_requested_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool report_all_ CLEAVE_GUARDED_BY(mutex_) = false;  // also the unawaited commands in pending_
  // Of an out-of-order queue: the callbacks of commands that have not been reported.
  std::unordered_set<std::shared_ptr<PendingCallback>> callbacks_ CLEAVE_GUARDED_BY(mutex_);
  bool failures_possible_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool polling_failures_ CLEAVE_GUARDED_BY(mutex_) = false;  // a thread polls for failures
};

}  // namespace cleave::remote::server
