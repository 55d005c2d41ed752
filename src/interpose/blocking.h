// A function that enqueues a command and, if its flag says so, waits for it. Such a call is made when what
// lies before it is done: until then the wait is Cleave's, and then the call is made as it came. So its
// errors, its event and the program's memory are the driver's affair altogether, and only the transfer's own
// time is waited for by the driver.
//
// Meanwhile another thread could enqueue something there that then comes first. OpenCL never said which of
// two threads' commands does, but programs may be used to it: so only a queue that one thread uses is waited
// for like this.
#pragma once

#include <span>
#include <tuple>
#include <type_traits>

#include "interpose/counted.h"
#include "interpose/lessons.h"
#include "interpose/wait.h"

namespace cleave::interpose {

// The place of the first of the types that is `Wanted`.
template <typename Wanted, typename... Types>
constexpr std::size_t place_of() {
  std::size_t place = 0;
  static_cast<void>(((std::is_same_v<Wanted, Types> || (++place, false)) || ...));
  return place;
}

template <auto Entry, typename Function = FunctionOf<Entry>>
struct Blocking;

template <auto Entry, typename Result, typename... Parameters>
struct Blocking<Entry, Result(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  static Result CL_API_CALL call(cl_command_queue queue, Parameters... parameters) noexcept {
    Process& p = process();
    const std::tuple<Parameters...> all(parameters...);
    // The flag is the first number in all of these, and the length of the wait list stands before the list.
    if (std::get<place_of<cl_bool, Parameters...>()>(all) == CL_FALSE) {
      p.waits.of(queue).note_work();
      p.timers.begin(queue, p.clock);
      return enqueue(p, queue, parameters...);
    }
    constexpr std::size_t kList = place_of<const cl_event*, Parameters...>();
    const cl_event* const list = std::get<kList>(all);
    const std::size_t count = list != nullptr ? std::get<kList - 1>(all) : 0;
    p.waits.of(queue).note_use();
    const base::Uncancelled uncancelled;
    wait_for_timed_launch(p, queue);
    const Timers::Start start = p.timers.begin(queue, p.clock);
    const Result result = wait_for(p, queue, {list, count}, parameters...);
    if (!p.timers.empty()) note_done(p, queue, start, result);
    return result;
  }

 private:
  static Result wait_for(Process& p, cl_command_queue queue, std::span<const cl_event> list,
                         Parameters... parameters) {
    if (!may_be_polite(p)) return enqueue(p, queue, parameters...);
    Wait wait(p, queue, WaitKind::transfer);
    if (wait.polite()) wait.watch_queue(list);
    const Result result = enqueue(p, queue, parameters...);
    wait.end();
    return result;
  }

  // On an in-order queue everything has ended then. A call that failed may have waited for nothing.
  static void note_done(Process& p, cl_command_queue queue, const Timers::Start& start, Result result) {
    bool succeeded = false;
    if constexpr (std::is_pointer_v<Result>) {
      succeeded = result != nullptr;
    } else {
      succeeded = result == CL_SUCCESS;
    }
    const auto record = p.queues.find(queue);
    if (succeeded && record && record->in_order) p.timers.done(queue, start);
  }

  static Result enqueue(Process& p, cl_command_queue queue, Parameters... parameters) {
    const Passage passage(p.gates.of(queue));
    return (p.next.*Entry)(queue, parameters...);
  }
};

}  // namespace cleave::interpose
