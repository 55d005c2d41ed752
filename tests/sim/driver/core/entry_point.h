// What stands in the table for each function. Made from the function's type, so that an implementation says
// only what is its own:
//
//   void flush(Frame& frame, cl_command_queue queue)               for  cl_int clFlush(queue)
//   cl_sampler create(Frame& frame, ...)                           for  cl_sampler clCreateSampler(...,
//   errcode_ret)
//
// It returns normally or throws Error; the entry does errcode_ret, counting, faults and the log. An
// implementation may rely on the lock, and must take care of what it keeps where it calls DriverState::wait.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/sim/driver/core/call_frame.h"
#include "tests/sim/driver/core/call_text.h"
#include "tests/sim/driver/core/functions.h"

namespace cleave::sim {

template <class... A>
inline constexpr bool ends_in_errcode = false;
template <class First, class... Rest>
inline constexpr bool ends_in_errcode<First, Rest...> =
    std::is_same_v<std::tuple_element_t<sizeof...(Rest), std::tuple<First, Rest...>>, cl_int*>;

// The error for a call while there is no driver.
inline constexpr cl_int no_driver = CL_OUT_OF_RESOURCES;

template <Function function, auto implementation, class Pointer>
struct EntryPoint;

template <Function function, auto implementation, class Result, class... A>
struct EntryPoint<function, implementation, Result(CL_API_CALL*)(A...)> {
  static constexpr bool is_status = std::is_same_v<Result, cl_int>;
  static constexpr bool has_errcode = std::is_pointer_v<Result> && ends_in_errcode<A...>;

  static Result CL_API_CALL call(A... arguments) noexcept {
    if constexpr (is_status) {
      return run(arguments...);
    } else if constexpr (std::is_void_v<Result>) {
      run(arguments...);
    } else {
      Result result{};
      const cl_int code = run(result, arguments...);
      if constexpr (has_errcode) {
        cl_int* errcode = std::get<sizeof...(A) - 1>(std::tuple<A...>(arguments...));
        if (errcode != nullptr) *errcode = code;
      }
      return code == CL_SUCCESS ? result : Result{};
    }
  }

 private:
  static void describe(CallFrame& frame, const A&... arguments) {
    if (frame.wants_text()) (frame.argument(text_of(frame.state, arguments)), ...);
  }

  static cl_int run(A... arguments) {
    DriverState* state = DriverState::current();
    if (state == nullptr) return no_driver;
    CallFrame frame(*state, function);
    describe(frame, arguments...);
    return frame.attempt([&] { implementation(frame, arguments...); });
  }

  template <class R>
  requires(!is_status) static cl_int run(R& result, A... arguments) {
    DriverState* state = DriverState::current();
    if (state == nullptr) return no_driver;
    CallFrame frame(*state, function);
    describe(frame, arguments...);
    return frame.attempt([&] {
      constexpr std::size_t passed = sizeof...(A) - (has_errcode ? 1 : 0);
      result = without_rest(frame, std::make_index_sequence<passed>{}, std::tuple<A...>(arguments...));
      if (frame.wants_text() && result != nullptr) frame.returned(text_of(*state, result));
    });
  }

  template <std::size_t... I>
  static Result without_rest(CallFrame& frame, std::index_sequence<I...>, const std::tuple<A...>& arguments) {
    return implementation(frame, std::get<I>(arguments)...);
  }
};

// A function that the driver knows but does not do: handles are checked, then it is refused.
template <cl_int code, class Pointer>
struct Refusal;
template <cl_int code, class Result, class... A>
struct Refusal<code, Result(CL_API_CALL*)(A...)> {
  struct Body {
    template <class... Passed>
    Result operator()(CallFrame& frame, Passed... arguments) const {
      (check(frame, arguments), ...);
      throw Error{code};
    }
    template <class T>
    static void check(CallFrame& frame, const T& argument) {
      if constexpr (ObjectHandle<T>) frame.state.get(argument);
    }
  };
  static constexpr Body body{};
};

template <Function function, auto implementation, class Pointer>
void implement(Pointer& slot) {
  slot = &EntryPoint<function, implementation, Pointer>::call;
}

template <Function function, cl_int code, class Pointer>
void refuse(Pointer& slot) {
  slot = &EntryPoint<function, Refusal<code, Pointer>::body, Pointer>::call;
}

// In a function `void add_...(cl_icd_dispatch& table)`: `name` is done by `implementation`.
#define SIM_IMPLEMENT(name, implementation) \
  ::cleave::sim::implement<::cleave::sim::Function::name, implementation>(table.name)

}  // namespace cleave::sim
