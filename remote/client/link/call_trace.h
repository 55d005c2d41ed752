// The client's part of the trace: the program's calls that send something to a server or wait for it, under the numbers by which
// the server's trace knows their commands; and the exchanges by which the two clocks are aligned. docs/trace.md defines the
// events. Its file is the trace's with ".remote" behind its name, since the interposer's library writes that one.
//
// A command's number is its place among all that were sent on its connection, without Pings, from 1: the server counts them as
// they come, so nothing is sent for it.
//
// Thread-safe. Nothing throws; events are dropped if memory runs out.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "observe/clock_alignment.h"
#include "observe/trace_writer.h"

namespace cleave::remote::client {

class CallTrace {
 public:
  // `path`: the value of CLEAVE_TRACE. May throw std::bad_alloc.
  CallTrace(const std::string& path, base::ForkLocks& forks);
  CallTrace(const CallTrace&) = delete;
  CallTrace& operator=(const CallTrace&) = delete;

  void add_session(const std::string& session) noexcept;
  // A connection that its server does not trace. `server`: its name, for people.
  void add_untraced(const std::string& server) noexcept;
  void add_exchange(const std::string& session, const observe::ClockExchange& exchange) noexcept;
  // The process exits.
  void end() noexcept { file_.end(); }

  // A call of the program, on its thread. Requires: there is a trace.
  class Call {
   public:
    explicit Call(const char* function) noexcept;
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();

    // Of the calling thread; null: there is none.
    static Call* current() noexcept { return current_; }
    void add_command(const std::string& session, std::uint64_t number) noexcept;
    void waits() noexcept { waits_ = true; }

   private:
    static constinit inline thread_local Call* current_ = nullptr;
    Call* const outer_;  // a function of ours may call another one
    const char* const function_;
    const base::Nanoseconds begin_;
    std::string sent_;
    bool waits_ = false;
  };

 private:
  observe::TraceWriter file_;
};

// Null: nothing is traced. Set before there is a connection, and never destroyed. Defined in call_trace.cpp.
extern constinit CallTrace* call_trace;

// Replaces the functions of `table` by such that trace calls of them.
void trace_calls(Table& table);

}  // namespace cleave::remote::client
