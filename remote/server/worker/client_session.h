// Reads a client's frames and executes their commands, one after the other. It never waits for the device: what takes
// long ends elsewhere (queues/queue.h, builds/build_threads.h). What handlers work on is session/session_context.h.
//
// run() is for one thread; the other functions are for any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "remote/server/session/request_trace.h"
#include "remote/server/session/session_context.h"

namespace cleave::remote::server {

class ClientSession {
 public:
  // Without `to_front` no contents go to or come from other servers.
  ClientSession(const Table& cl, const Table& driver, FrameReader& input, Outbox& outbox,
                ObjectTable& objects, const ClientLimits& limits, const SharedMemory* shared,
                BuildTrials* trials, RequestTrace* trace = nullptr, PeerTransfers::ToFront to_front = {})
      : trace_(trace),
        context_(cl, driver, input, outbox, objects, limits, shared, trials, std::move(to_front)) {}
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;
  // Waits for the commands in flight. The driver's objects are not released: a worker process ends without this.
  ~ClientSession();

  // Returns when the client has disconnected, is silent or idle for too long, or has violated the protocol; says which.
  std::string run();
  // Once run() has returned.
  [[nodiscard]] bool had_violation() const { return !context_.violation.empty(); }

  // When the reading thread began with its current command; the epoch if it waits for the client.
  [[nodiscard]] Time busy_since() const {
    return Time(Duration(busy_since_.load(std::memory_order_relaxed)));
  }
  // A message of the front's to this worker, with the descriptor that has come with it.
  void handle_front(const PeerMessage& message, base::FileDescriptor descriptor) {
    context_.peers.handle(message, std::move(descriptor));
  }
  // Returns staging memory to the system if none has been used for that long, ended trial processes, and transfers.
  void trim(Duration unused) {
    context_.staging.trim(unused);
    if (context_.trials != nullptr) context_.trials->reap();
    context_.peers.tidy(std::chrono::steady_clock::now());
  }
  // Commands so far, without Pings.
  [[nodiscard]] std::uint64_t commands() const { return commands_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool has_work_in_flight();
  bool execute_frame(const FrameHeader& header);
  bool execute_all(const FrameCommands& commands);
  bool execute(const wire::Command& command);
  void after_frame();
  void report_unawaited_if_crowded();
  void flush_answers();

  RequestTrace* const trace_;  // null: nothing is traced
  SessionContext context_;
  std::uint64_t commands_begun_ = 0;  // with a queue
  std::uint64_t checked_at_ = 0;      // commands_begun_ at the last report_unawaited_if_crowded()
  std::atomic<Duration::rep> busy_since_{0};
  std::atomic<std::uint64_t> commands_{0};
};

}  // namespace cleave::remote::server
