// Calls that enqueue a command and, if their flag says so, wait for it. A blocking call is made only after the commands
// before it have ended: until then Cleave waits, between sleeps, and then the call is made unchanged. So its errors,
// its event and the program's memory are the driver's responsibility, and the driver waits for the transfer only.
//
// Meanwhile another thread could enqueue a command that then comes first. OpenCL does not define the order of two
// threads' commands, but programs may rely on it, so this is done only for queues that one thread uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

#include "interpose/calls/next_function.h"
#include "interpose/calls/reference_counts.h"
#include "interpose/waits/finish_and_wait_for_events.h"
#include "interpose/waits/wait.h"
#include "opencl/missing_functions.h"

namespace cleave::interpose {

// The index of the first of the types that is `Wanted`.
template <typename Wanted, typename... Types>
constexpr std::size_t place_of() {
  std::size_t place = 0;
  static_cast<void>(((std::is_same_v<Wanted, Types> || (++place, false)) || ...));
  return place;
}

// A function's name as a template argument.
template <std::size_t length>
struct Name {
  char text[length];
  constexpr Name(const char (&name)[length]) { std::copy_n(name, length, text); }
};

template <auto Entry, Name name, typename Function = FunctionAt<Entry>>
struct Blocking;

template <auto Entry, Name name, typename Result, typename... Parameters>
struct Blocking<Entry, name, Result(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  // The flag is the first cl_bool in all of these.
  static bool waits(Parameters... parameters) noexcept {
    return std::get<place_of<cl_bool, Parameters...>()>(std::tuple(parameters...)) != CL_FALSE;
  }

  static Result CL_API_CALL call(cl_command_queue queue, Parameters... parameters) noexcept {
    Interposer& p = interposer();
    if (const cl_int error = p.feeder.settle(queue); error != CL_SUCCESS) [[unlikely]]
      return opencl::failed<Result>(error, parameters...);
    if (!waits(parameters...)) {
      p.note_command(queue);
      return enqueue(p, queue, parameters...);
    }
    // The length of the wait list precedes the list.
    const std::tuple<Parameters...> all(parameters...);
    constexpr std::size_t kList = place_of<const cl_event*, Parameters...>();
    const cl_event* const list = std::get<kList>(all);
    const std::size_t count = list != nullptr ? std::get<kList - 1>(all) : 0;
    p.wait_statistics.of(queue).note_use();
    finish_timed_launch(p, queue);
    const LaunchTimers::Start start = p.launch_timers.begin(queue, p.clock);
    const Result result = wait_traced(p, {list, count}, queue, parameters...);
    if (!p.launch_timers.empty()) note_done(p, queue, start, result);
    p.turns.settle(queue);
    p.memory.collect();
    return result;
  }

 private:
  static cl_int error_of(cl_int error) { return error; }
  static cl_int error_of(const void* mapped) { return mapped != nullptr ? CL_SUCCESS : CL_MAP_FAILURE; }

  static Result wait_traced(Interposer& p, std::span<const cl_event> list, cl_command_queue queue,
                            Parameters... parameters) {
    WaitInfo how;
    if (!p.trace) return wait_and_enqueue(p, how, list, queue, parameters...);
    const WaitTrace trace = p.trace->wait_begins(name.text, queue);
    const Result result = wait_and_enqueue(p, how, list, queue, parameters...);
    p.trace->wait_ends(trace, how, error_of(result), false);
    return result;
  }

  static Result wait_and_enqueue(Interposer& p, WaitInfo& how, std::span<const cl_event> list,
                                 cl_command_queue queue, Parameters... parameters) {
    if (!may_sleep(p.waits)) return enqueue(p, queue, parameters...);
    Wait wait(p.waits, queue, WaitKind::transfer);
    if (wait.sleeping()) wait.watch_queue(list);
    const Result result = enqueue(p, queue, parameters...);
    wait.end();
    how = wait.how();
    return result;
  }

  // On an in-order queue everything has ended then. A call that failed may not have waited.
  static void note_done(Interposer& p, cl_command_queue queue, const LaunchTimers::Start& start,
                        Result result) {
    const auto record = p.records.queues.find(queue);
    if (error_of(result) == CL_SUCCESS && record && record->in_order)
      p.launch_timers.finish_command(queue, start);
  }

  static Result enqueue(Interposer& p, cl_command_queue queue, Parameters... parameters) {
    const GateGuard guard(p.gates.of(queue));
    return next_function<Entry>(p, queue)(queue, parameters...);
  }
};

}  // namespace cleave::interpose
