// A command queue of the client's, and what is under way on it: who wants to know when it has ended, and what
// memory it needs until then.
//
// An in-order queue has a thread that waits for its commands in their order, with the driver's own wait. A
// command on an out-of-order queue has a callback. So no wait on one queue holds up another, nor the thread
// that reads from the client. Some drivers (PoCL) do not call back for a command that fails: once a user
// event has failed, those that have a callback are looked after besides.
//
// What ends soon that thread sees itself (settle), if it has nothing else to do: then two wakes less lie
// between the command and its answer.
//
// add(), finish() and poll_awaited() are for that thread only.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/opencl.h"
#include "remote/server/memory/staging.h"
#include "remote/server/queues/event_reference.h"
#include "remote/server/queues/pending_reads.h"
#include "remote/server/session/outbox.h"
#include "remote/transport/brief_spin.h"
#include "remote/transport/ring_slots.h"

namespace cleave::remote::server {

// A slot of a ring that a command uses. The driver calls at its end; some (PoCL) do not for a command that
// fails, and then whoever reports that returns the slot. Not both: the client may use it anew by then.
struct RingSlot {
  explicit RingSlot(std::uint32_t& the_word) : word(&the_word) {}
  void return_once() {
    if (!is_returned.exchange(true)) return_slot(*word);
  }

 private:
  std::uint32_t* word;
  std::atomic<bool> is_returned{false};
};

// A command of the driver's that is under way. One command of the client's may be several of these, the last
// of which `ends` it.
struct Pending {
  EventReference event;        // none: a finish or a failure, which has ended when what is before it has
  EventReference first;        // of several: where profiling begins, and what fails for all
  std::uint64_t event_id = 0;  // a Completion is wanted
  std::uint32_t request = 0;   // an Answer is wanted, with the data of a read
  bool is_read = false;
  bool more = false;
  std::uint64_t at = 0;  // where the data of a read belongs in the whole of it
  Block data;
  std::uint64_t bytes = 0;         // of payload that end with it
  std::shared_ptr<RingSlot> slot;  // is returned at the end
  bool ends = true;
  std::shared_ptr<PendingRead>
      read;  // the answer of a read, told by whoever is first (reads.h); the queue's alone
  // Arrays that the driver has been given. It should have copied them; NVIDIA's keeps
  // clEnqueueMigrateMemObjects' pointer where the command waits for a user event.
  std::shared_ptr<const void> arrays;
  cl_int error = CL_SUCCESS;  // what it ends with where the driver has not taken it; then there is no event

  static constexpr std::uint64_t kLargePayload = std::uint64_t{64} << 10U;

  // Whether somebody waits for its end.
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

  // `report_every`: so many ended commands, or bytes, are worth a frame of their own.
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
  void set_profiling(bool on) { profiling_.store(on, std::memory_order_relaxed); }

  // The command has been enqueued. `settled`: the caller sees to it that poll_awaited() or resume_watcher() comes soon.
  enum class WaitedBy { by_watcher, by_caller };
  void add(Pending pending, WaitedBy waited_by = WaitedBy::by_watcher);

  // Answers the request when all that has been added so far has ended. An error: the driver's.
  cl_int finish(std::uint32_t request, WaitedBy waited_by = WaitedBy::by_watcher);

  // Reports what somebody waits for if it ends within a short look; else, or as soon as is_wanted() calls the
  // caller away, it is the watching thread's.
  void poll_awaited(const std::function<bool()>& is_wanted);
  void resume_watcher();

  // Sees to all that has been added, though nobody waits for it.
  void report_unawaited();

  // A user event has failed, and commands may fail with it.
  void poll_for_failures();

  // The client has released it: the thread ends with the last command.
  void stop_when_idle();

  // The same, and the driver's queue is given back then, not before: some drivers hold up whoever releases a
  // queue while its commands run, who is the thread that reads what these may be waiting for.
  void release_when_idle();

  // Returns when that has happened. Only tests need it.
  void wait_until_stopped();

 private:
  struct PendingCallback;
  static constexpr std::chrono::microseconds kPollTime{100};

  void register_read(Pending& pending);
  void push(Pending pending, WaitedBy waited_by);
  void wake_watcher();
  [[nodiscard]] bool has_work() const;
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
  BriefSpin spin_{kPollTime};

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Pending> pending_;
  std::size_t awaited_ = 0;       // of those in pending_
  bool watcher_running_ = false;  // the thread runs
  bool batch_taken_ = false;      // it, or poll_awaited(), has taken commands that have not all ended
  bool stopping_ = false;
  bool release_requested_ = false;  // the driver's queue, when all has ended
  bool report_all_ = false;         // at what is in pending_, awaited or not
  std::condition_variable ended_;
  std::unordered_set<std::shared_ptr<PendingCallback>>
      callbacks_;  // out of order: those that have not been reported
  bool failures_possible_ = false;
  bool polling_failures_ = false;  // a thread does
};

}  // namespace cleave::remote::server
