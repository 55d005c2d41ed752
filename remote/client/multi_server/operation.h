// Operations that run on one server while others depend on them, and the user events that represent them there.
//
// An Operation is a command of the program's, or a migration of contents, from when it was ordered (command_order.h). It is
// over when it has ended, successfully or not. A Gate is a user event on one server for everything that a command there has
// to wait for and its server does not know: other servers' events, and migrations.
//
// Thread-safe. Waiters are called without a lock, at once or on the thread that ends the operation (for commands
// client.internal_callbacks), so they must not block. Operation's mutex is a leaf.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/threads/mutex.h"
#include "remote/client/objects/object_state.h"

namespace cleave::remote::client::multi_server {

using Waiter = std::function<void(cl_int status)>;  // CL_COMPLETE or an error

// Calls the waiter when the event has ended.
void on_end(Object& event, Waiter waiter);

// Waits until the event has ended. CL_SUCCESS or its error.
cl_int wait_for_end(cl_event event);

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  // The command has been sent: the operation ends with this event, which it holds.
  void bind_event(Object& event) CLEAVE_EXCLUDES(mutex_);
  // It ends now.
  void end(cl_int status) CLEAVE_EXCLUDES(mutex_);
  // The command was not sent after all. That is no error for what waits for it.
  void cancel() CLEAVE_EXCLUDES(mutex_);

  [[nodiscard]] bool is_over();
  [[nodiscard]] bool has_failed();  // it is over, and has failed or was never sent
  [[nodiscard]] bool is_sent();     // or is over
  [[nodiscard]] bool has_event();
  [[nodiscard]] bool is_bound_to(const Object& event);
  // Calls the waiter at the end, or at once if it is over.
  void on_end(Waiter waiter) CLEAVE_EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool has_ended() const CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] cl_int status() const CLEAVE_REQUIRES(mutex_);
  void observe(Object& event);

  base::Mutex mutex_;
  bool ended_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool cancelled_ CLEAVE_GUARDED_BY(mutex_) = false;
  cl_int status_ CLEAVE_GUARDED_BY(mutex_) = CL_COMPLETE;
  Object* event_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
  bool observed_ CLEAVE_GUARDED_BY(mutex_) = false;  // end() will be called at the event's end
  std::vector<Waiter> waiters_ CLEAVE_GUARDED_BY(mutex_);
};

class Gate : public std::enable_shared_from_this<Gate> {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  // Creates the user event in a shard of a context. Null: `error` says why. Once, before the creator's resolve_one().
  cl_event create_event(Object& shard, cl_int& error);

  // Adds something to wait for. Before the caller's own resolve_one().
  void wait_for(Operation& operation);
  void wait_for(Object& event);
  void hold() { unresolved_.fetch_add(1); }

  // One of the things to wait for is done; the first of them is the creator itself. The event is set with the last of them,
  // or with the first error.
  void resolve_one(cl_int status);

 private:
  std::atomic<int> unresolved_{1};
  std::atomic<cl_int> status_{CL_COMPLETE};
  std::atomic<cl_event> event_{nullptr};
  std::atomic<bool> is_open_{false};
};

}  // namespace cleave::remote::client::multi_server
