// What stands in the table for each function. Made from the function's type, so that an implementation says
// only what is its own:
//
//   void flush(CallFrame& frame, Queue& queue)       for  cl_int clFlush(queue)
//   cl_sampler create(CallFrame& frame, ...)         for  cl_sampler clCreateSampler(..., errcode_ret)
//
// An implementation's parameters are the function's arguments, but for these, which stand for one or more of them:
//
//   Queue&, const Kernel&, ...   the object behind a handle; CL_INVALID_... if it is none
//   InfoQuery                    name, size, value and size_ret of a clGet...Info function
//   WaitListArguments            the last three of a clEnqueue... function
//
// It returns normally or throws Error; the entry point does errcode_ret, counting, faults and the log. An
// implementation may rely on the lock, and must retain what it still uses after DriverState::wait.
#pragma once

#include <CL/cl_icd.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/sim/driver/core/call_frame.h"
#include "tests/sim/driver/core/call_text.h"
#include "tests/sim/driver/core/functions.h"
#include "tests/sim/driver/core/info_answer.h"

namespace cleave::sim {

template <class... A>
inline constexpr bool ends_in_errcode = false;
template <class First, class... Rest>
inline constexpr bool ends_in_errcode<First, Rest...> =
    std::is_same_v<std::tuple_element_t<sizeof...(Rest), std::tuple<First, Rest...>>, cl_int*>;

// The error for a call while there is no driver.
inline constexpr cl_int no_driver = CL_OUT_OF_RESOURCES;

// The last three arguments of the clEnqueue... functions.
struct WaitListArguments {
  cl_uint count = 0;
  const cl_event* waits = nullptr;
  cl_event* event = nullptr;
};

// How a parameter of type P is made from the function's arguments, of which it stands for `count`, from `at` on.
template <class P>
struct FromArguments {
  static constexpr std::size_t count = 1;
  template <std::size_t at, class All>
  static P from(CallFrame&, const All& all) {
    return std::get<at>(all);
  }
};
template <std::derived_from<Object> T>
struct FromArguments<T&> {
  static constexpr std::size_t count = 1;
  template <std::size_t at, class All>
  static T& from(CallFrame& frame, const All& all) {
    return frame.state.get(std::get<at>(all));
  }
};
template <>
struct FromArguments<InfoQuery> {
  static constexpr std::size_t count = 4;
  template <std::size_t at, class All>
  static InfoQuery from(CallFrame&, const All& all) {
    return {std::get<at>(all), {std::get<at + 1>(all), std::get<at + 2>(all), std::get<at + 3>(all)}};
  }
};
template <>
struct FromArguments<WaitListArguments> {
  static constexpr std::size_t count = 3;
  template <std::size_t at, class All>
  static WaitListArguments from(CallFrame&, const All& all) {
    return {std::get<at>(all), std::get<at + 1>(all), std::get<at + 2>(all)};
  }
};

// Calls an implementation with its parameters, made from left to right.
template <class Implementation>
struct Invoke;
template <class Result, class... P>
struct Invoke<Result (*)(CallFrame&, P...)> {
  static constexpr auto positions = [] {
    std::array<std::size_t, sizeof...(P) + 1> all{};
    std::size_t i = 0;
    ((all[i + 1] = all[i] + FromArguments<P>::count, ++i), ...);
    return all;
  }();

  template <class All>
  static Result call(Result (*implementation)(CallFrame&, P...), CallFrame& frame, const All& all) {
    static_assert(positions.back() == std::tuple_size_v<All>,
                  "the parameters are not the function's arguments");
    return call(implementation, frame, all, std::index_sequence_for<P...>{});
  }

 private:
  template <class All, std::size_t... I>
  static Result call(Result (*implementation)(CallFrame&, P...), CallFrame& frame, const All& all,
                     std::index_sequence<I...>) {
    std::tuple<P...> parameters{FromArguments<P>::template from<positions[I]>(frame, all)...};
    return implementation(frame, static_cast<P>(std::get<I>(parameters))...);
  }
};

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
    return frame.attempt([&] { invoke(frame, std::tuple<A...>(arguments...)); });
  }

  template <class R>
  requires(!is_status) static cl_int run(R& result, A... arguments) {
    DriverState* state = DriverState::current();
    if (state == nullptr) return no_driver;
    CallFrame frame(*state, function);
    describe(frame, arguments...);
    return frame.attempt([&] {
      constexpr std::size_t passed = sizeof...(A) - (has_errcode ? 1 : 0);
      result = first_of(frame, std::make_index_sequence<passed>{}, std::tuple<A...>(arguments...));
      if (frame.wants_text() && result != nullptr) frame.returned(text_of(*state, result));
    });
  }

  template <std::size_t... I>
  static Result first_of(CallFrame& frame, std::index_sequence<I...>, const std::tuple<A...>& arguments) {
    return invoke(frame, std::tuple(std::get<I>(arguments)...));
  }

  template <class All>
  static auto invoke(CallFrame& frame, const All& all) {
    if constexpr (std::is_pointer_v<decltype(implementation)>) {
      return Invoke<decltype(implementation)>::call(implementation, frame, all);
    } else {
      return std::apply(
          [&](const auto&... passed) { return implementation.template refuse<Result>(frame, passed...); },
          all);
    }
  }
};

// A function that the driver knows but does not do: handles are checked, then it is refused.
template <cl_int code>
struct Refusal {
  template <class Result, class... Passed>
  Result refuse(CallFrame& frame, const Passed&... arguments) const {
    (check(frame, arguments), ...);
    throw Error{code};
  }
  template <class T>
  static void check(CallFrame& frame, const T& argument) {
    if constexpr (ObjectHandle<T>) frame.state.get(argument);
  }
};

// clRetain... and clRelease... of objects that have nothing special about it.
template <class T>
void retain(CallFrame&, T& object) {
  object.retain();
}
template <class T>
void release(CallFrame&, T& object) {
  require(object.release(), T::invalid);
}

// A clGet...Info function that answers from a table.
template <class T, const auto& rows>
void answer_from(CallFrame&, const T& object, InfoQuery query) {
  answer(rows, object, query);
}

template <Function function, auto implementation, class Pointer>
void implement(Pointer& slot) {
  slot = &EntryPoint<function, implementation, Pointer>::call;
}

template <Function function, cl_int code, class Pointer>
void refuse(Pointer& slot) {
  slot = &EntryPoint<function, Refusal<code>{}, Pointer>::call;
}

// In a function `void ..._functions::add(cl_icd_dispatch& table)`: `name` is done by `implementation`.
#define SIM_IMPLEMENT(name, ...) \
  ::cleave::sim::implement<::cleave::sim::Function::name, __VA_ARGS__>(table.name)

}  // namespace cleave::sim
