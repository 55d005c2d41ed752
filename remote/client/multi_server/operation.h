// What happens some time, and who waits for it.
//
// A Step is a command of the program's or a move of contents, from when it has been decided on. It is over
// when it has ended, well or not. A Gate is a user event of one server, for what a command there has to wait
// for that its server knows nothing of: other servers' events, moves.
//
// Thread-safe. Waiters are called without a lock, by the thread that ends the step, which is the relays' for
// a command, or at once; so they wait for nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client::multi_server {

using Waiter = std::function<void(cl_int status)>;  // CL_COMPLETE or an error

// Calls the waiter when the event has ended.
void on_end(Object& event, Waiter waiter);

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  // The command has been sent: it is over when this event is. Holds the event.
  void bind_event(Object& event);
  // It is over now.
  void end(cl_int status);
  // The command was not sent after all. Nobody fails for that.
  void cancel();

  [[nodiscard]] bool is_over();
  [[nodiscard]] bool has_failed();  // it is over, and has failed or was never sent
  [[nodiscard]] bool is_sent();     // or has come to nothing
  [[nodiscard]] bool has_event();   // it was sent
  [[nodiscard]] bool is_bound_to(const Object& event);
  void on_end(Waiter waiter);

 private:
  [[nodiscard]] bool has_ended() const;  // under the lock
  [[nodiscard]] cl_int status() const;   // the same
  void observe_event();

  std::mutex mutex_;
  bool ended_ = false;
  bool cancelled_ = false;
  cl_int status_ = CL_COMPLETE;
  Object* event_ = nullptr;
  bool observed_ = false;
  std::vector<Waiter> waiters_;
};

class Gate : public std::enable_shared_from_this<Gate> {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  // Makes its user event in a part of a context; null: `error` says why. Once, before the maker's resolve_one().
  cl_event create_event(Object& shard, cl_int& error);

  // It stays shut for these, too. Before the resolve_one() of whoever calls this.
  void wait_for(Operation& operation);
  void wait_for(Object& event);
  void hold() { unresolved_.fetch_add(1); }

  // One of those that it waits for is done; the first is its maker. With the last it opens, with an error at
  // once.
  void resolve_one(cl_int status);

 private:
  std::atomic<int> unresolved_{1};
  std::atomic<cl_int> status_{CL_COMPLETE};
  std::atomic<cl_event> event_{nullptr};
  std::atomic<bool> is_open_{false};
};

}  // namespace cleave::remote::client::multi_server
