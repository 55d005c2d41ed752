// Translates handles by the types of a function's parameters, for rows of opencl/functions.def that say `by_type` or
// `checked_by_type`.
//
//   cl_x                        validated and replaced by the driver's
//   cl_uint, const cl_x*        the same for each of the array
//   cl_event*                   receives an event of ours if the driver created one
//   a result cl_x               the same
//   anything else               has no handles and is passed on unchanged
//
// No destructor is pending while the driver is called, and nothing is noexcept: the driver's function may be a
// cancellation point of the program's thread, and a cancellation must not have to unwind these functions.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>

#include "icd/vendor/state.h"
#include "opencl/function_traits.h"
#include "opencl/missing_functions.h"

namespace cleave::vendor {

using objects::KindOf;
using objects::Object;
using objects::OpenClHandle;
using opencl::FunctionAt;

// The function of the next table, or of the object's platform for one of an extension.
template <auto Entry>
FunctionAt<Entry> next_function([[maybe_unused]] const Object& object) {
  if constexpr (std::is_same_v<typename opencl::EntryTraits<Entry>::Table, Table>) {
    return vendor.next->*Entry;
  } else {
    const FunctionAt<Entry> function = platform_of(object).extensions.*Entry;
    return function != nullptr ? function : opencl::MissingFunction<FunctionAt<Entry>>::call;
  }
}

// What a function returns if an argument is invalid.
template <typename Result, typename... Parameters>
Result error_result(cl_int error, Parameters... parameters) {
  if constexpr (std::is_same_v<Result, cl_int>) {
    return error;
  } else if constexpr (std::is_pointer_v<Result>) {
    auto last = std::get<sizeof...(Parameters) - 1>(std::tie(parameters...));
    if constexpr (std::is_same_v<decltype(last), cl_int*>) {
      if (last != nullptr) *last = error;
    }
    return nullptr;
  } else {
    static_assert(std::is_void_v<Result>);
  }
}

// What a function that creates an object returns on failure.
template <OpenClHandle Handle>
Handle fail(cl_int error, cl_int* error_ret) {
  if (error_ret != nullptr) *error_ret = error;
  return nullptr;
}

// The handle of the object that the driver has created, `raw`. If that is null, ours is discarded.
template <OpenClHandle Handle>
Handle finish_creation(Object& made, Handle raw) {
  if (raw != nullptr) return objects::handle_of<Handle>(&vendor.objects.publish(made, raw));
  vendor.objects.discard(made);
  return nullptr;
}

// --- One struct for each way of translating a parameter. take() returns an error or CL_SUCCESS, raw() is what the
// driver gets, end() frees memory after the driver has returned.

template <typename T>
struct UnchangedArgument {
  T value;
  cl_int take(T given, cl_uint) {
    value = given;
    return CL_SUCCESS;
  }
  T raw() { return value; }
  void end() {}
};

template <OpenClHandle Handle>
struct HandleArgument {
  Object* object;
  cl_int take(Handle given, cl_uint) {
    object = vendor.objects.find(given);
    return object != nullptr ? CL_SUCCESS : KindOf<Handle>::invalid;
  }
  Handle raw() { return static_cast<Handle>(objects::raw_of(*object)); }
  void end() {}
};

// The same for a parameter whose null has a meaning.
template <OpenClHandle Handle>
struct NullableHandleArgument {
  Object* object;
  cl_int take(Handle given, cl_uint) {
    object = given == nullptr ? nullptr : vendor.objects.find(given);
    return object != nullptr || given == nullptr ? CL_SUCCESS : KindOf<Handle>::invalid;
  }
  Handle raw() { return object == nullptr ? nullptr : static_cast<Handle>(objects::raw_of(*object)); }
  void end() {}
};

// An array of handles. The driver checks its length and pointer. Memory objects may be null (clEnqueueNativeKernel).
template <OpenClHandle Handle, cl_int kInvalid>
struct HandleListArgument {
  static constexpr cl_uint kInline = 16;
  const Handle* list = nullptr;
  Handle* heap_storage = nullptr;
  Handle inline_storage[kInline];

  HandleListArgument() {
  }  // leaves the handles uninitialized, since every call with a wait list comes through here

  cl_int take(const Handle* given, cl_uint count) {
    if (given == nullptr) return CL_SUCCESS;
    if (count > kInline) heap_storage = static_cast<Handle*>(std::malloc(count * sizeof(Handle)));
    if (count > kInline && heap_storage == nullptr) return CL_OUT_OF_HOST_MEMORY;
    Handle* const place = heap_storage != nullptr ? heap_storage : inline_storage;
    list = place;
    for (cl_uint i = 0; i < count; ++i) {
      if (std::is_same_v<Handle, cl_mem> && given[i] == nullptr) {
        place[i] = nullptr;
        continue;
      }
      const Object* const object = vendor.objects.find(given[i]);
      if (object == nullptr) return kInvalid;
      place[i] = static_cast<Handle>(objects::raw_of(*object));
    }
    return CL_SUCCESS;
  }
  const Handle* raw() { return list; }
  void end() { std::free(heap_storage); }
};

// Where the driver returns an event.
struct EventArgument {
  cl_event* place;
  Object* made;
  cl_event event;

  cl_int take(cl_event* given, cl_uint) {
    place = given;
    made = nullptr;
    event = nullptr;
    return CL_SUCCESS;
  }
  cl_event* raw() { return place != nullptr ? &event : nullptr; }
  void end() {}

  // Allocates our event before the command is enqueued. False if there is no memory.
  bool prepare(Object& queue) {
    if (place != nullptr) made = vendor.objects.prepare(objects::Kind::event, queue);
    return place == nullptr || made != nullptr;
  }
  void return_event(bool success) {
    if (made == nullptr) return;
    if (success && event != nullptr) {
      *place = objects::handle_of<cl_event>(&vendor.objects.publish(*made, event));
      return;
    }
    if (success) *place = nullptr;
    vendor.objects.discard(*made);
  }
};

// --- Which struct for which type.

template <typename T>
struct HandleListTraits {
  static constexpr bool is = false;
};
template <OpenClHandle Handle>
struct HandleListTraits<const Handle*> {
  static constexpr bool is = true;
  using Element = Handle;
};

// Types that may hold or return a handle in a way that the type alone does not show.
template <typename T>
constexpr bool may_hold_handles() {
  if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    using Plain = std::remove_cv_t<Target>;
    return std::is_function_v<Target> || objects::OpenClHandle<Plain> || std::is_same_v<Plain, cl_image_desc>;
  } else {
    return false;
  }
}

template <typename... Parameters>
constexpr bool is_query() {  // ends in: name, size, value, size of the value
  constexpr std::size_t kCount = sizeof...(Parameters);
  if constexpr (kCount < 4) {
    return false;
  } else {
    using All = std::tuple<Parameters...>;
    return std::is_same_v<std::tuple_element_t<kCount - 4, All>, cl_uint> &&
           std::is_same_v<std::tuple_element_t<kCount - 3, All>, size_t> &&
           std::is_same_v<std::tuple_element_t<kCount - 2, All>, void*> &&
           std::is_same_v<std::tuple_element_t<kCount - 1, All>, size_t*>;
  }
}

template <typename T, typename Before, typename After, bool nullable>
constexpr auto translator_for() {
  if constexpr (nullable) {
    return std::type_identity<NullableHandleArgument<T>>();
  } else if constexpr (objects::OpenClHandle<T>) {
    return std::type_identity<HandleArgument<T>>();
  } else if constexpr (std::is_same_v<T, cl_event*>) {
    return std::type_identity<EventArgument>();
  } else if constexpr (HandleListTraits<T>::is && std::is_same_v<Before, cl_uint>) {
    using Element = typename HandleListTraits<T>::Element;
    constexpr bool kWaitList = std::is_same_v<Element, cl_event> && std::is_same_v<After, cl_event*>;
    return std::type_identity<
        HandleListArgument<Element, kWaitList ? CL_INVALID_EVENT_WAIT_LIST : KindOf<Element>::invalid>>();
  } else {
    return std::type_identity<UnchangedArgument<T>>();
  }
}

template <typename T, typename Before>
constexpr bool is_translatable() {
  return !may_hold_handles<T>() || std::is_same_v<T, cl_event*> ||
         (HandleListTraits<T>::is && std::is_same_v<Before, cl_uint>);
}

inline constexpr std::size_t kNone = ~std::size_t{0};

// The translators of a function's parameters. They depend on the types before and after; void where there is none.
// Parameter `kNullable` is a handle that may be null.
template <std::size_t kNullable, typename... Parameters>
struct ParameterTranslators {
  static constexpr std::size_t kCount = sizeof...(Parameters);
  using Padded =
      std::tuple<std::type_identity<void>, std::type_identity<Parameters>..., std::type_identity<void>>;
  template <std::size_t I>
  using At = typename std::tuple_element_t<I, Padded>::type;
  template <std::size_t I>
  using Translator = typename decltype(translator_for<At<I + 1>, At<I>, At<I + 2>, I == kNullable>())::type;

  template <std::size_t... I>
  static constexpr bool covered(std::index_sequence<I...>) {
    return (is_translatable<At<I + 1>, At<I>>() && ...);
  }
  template <std::size_t... I>
  static std::tuple<Translator<I>...> make(std::index_sequence<I...>);
  using All = decltype(make(std::make_index_sequence<kCount>()));
};

// Whether the types of a function's parameters suffice.
template <typename Function>
struct TranslatableByType;
template <typename Result, typename... Parameters>
struct TranslatableByType<Result(CL_API_CALL*)(Parameters...)> {
  static constexpr bool enough =
      !is_query<Parameters...>() &&
      ParameterTranslators<kNone, Parameters...>::covered(std::make_index_sequence<sizeof...(Parameters)>());
};

// --- The call itself.

template <auto Entry, std::size_t kNullable = kNone, typename Function = FunctionAt<Entry>>
struct TranslatedCall;

template <auto Entry, std::size_t kNullable, typename Result, typename First, typename... Rest>
struct TranslatedCall<Entry, kNullable, Result(CL_API_CALL*)(First, Rest...)> {
  using All = typename ParameterTranslators<kNullable, First, Rest...>::All;
  static constexpr auto kIndices = std::make_index_sequence<sizeof...(Rest) + 1>();

  static Result CL_API_CALL call(First first, Rest... rest) {
    All all;  // initialized by take()
    const cl_int error = take(all, kIndices, first, rest...);
    if (error != CL_SUCCESS) {
      end(all, kIndices);
      return error_result<Result>(error, first, rest...);
    }
    return call_driver(all, kIndices, first, rest...);
  }

 private:
  // After an error the remaining arguments are only put into a state that end() can handle.
  template <std::size_t... I, typename... Given>
  static cl_int take(All& all, std::index_sequence<I...>, Given... given) {
    const auto values = std::tie(given...);
    cl_int error = CL_SUCCESS;
    const auto one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      cl_uint count = 0;
      if constexpr (K > 0) {
        if constexpr (std::is_same_v<std::remove_reference_t<decltype(std::get<K - 1>(values))>, cl_uint>) {
          count = std::get<K - 1>(values);
        }
      }
      auto value = std::get<K>(values);
      if (error != CL_SUCCESS) {
        if constexpr (std::is_pointer_v<decltype(value)> && !OpenClHandle<decltype(value)>) value = nullptr;
      }
      const cl_int found = std::get<K>(all).take(value, count);
      if (error == CL_SUCCESS) error = found;
    };
    (one(std::integral_constant<std::size_t, I>()), ...);
    return error;
  }

  template <std::size_t... I>
  static void end(All& all, std::index_sequence<I...>) {
    (std::get<I>(all).end(), ...);
  }

  // The parent of created objects; any object of ours for a function that creates none.
  static Object& parent_object(All& all) {
    if constexpr (requires { std::get<0>(all).object; }) {
      return *std::get<0>(all).object;
    } else {
      return *vendor.platforms[0].platform;
    }
  }

  static EventArgument* event_argument(All& all) {
    if constexpr (has_event(kIndices)) {
      return &std::get<EventArgument>(all);
    } else {
      return nullptr;
    }
  }
  template <std::size_t... I>
  static constexpr bool has_event(std::index_sequence<I...>) {
    return (std::is_same_v<std::tuple_element_t<I, All>, EventArgument> || ...);
  }

  template <std::size_t... I, typename... Given>
  static Result call_driver(All& all, std::index_sequence<I...>, Given... given) {
    EventArgument* const event = event_argument(all);
    if (event != nullptr && !event->prepare(parent_object(all))) {
      end(all, kIndices);
      return error_result<Result>(CL_OUT_OF_HOST_MEMORY, given...);
    }
    const auto function = next_function<Entry>(parent_object(all));
    if constexpr (OpenClHandle<Result>) {
      static_assert(
          requires { std::get<0>(all).object; },
          "the first parameter must be the parent of the created object");
      Object* const made = vendor.objects.prepare(KindOf<Result>::kind, parent_object(all));
      if (made == nullptr) {
        end(all, kIndices);
        return error_result<Result>(CL_OUT_OF_HOST_MEMORY, given...);
      }
      const Result result = function(std::get<I>(all).raw()...);
      end(all, kIndices);
      return finish_creation(*made, result);
    } else if constexpr (std::is_void_v<Result>) {
      function(std::get<I>(all).raw()...);
      end(all, kIndices);
    } else {
      const Result result = function(std::get<I>(all).raw()...);
      end(all, kIndices);
      if (event != nullptr) event->return_event(succeeded(result, *event));
      return result;
    }
  }

  template <typename Answer>
  static bool succeeded(const Answer& answer, const EventArgument& event) {
    if constexpr (std::is_same_v<Answer, cl_int>) {
      return answer == CL_SUCCESS;
    } else {
      return event.event != nullptr;
    }
  }
};

// Without parameters there is nothing to translate.
template <auto Entry, std::size_t kNullable, typename Result>
struct TranslatedCall<Entry, kNullable, Result(CL_API_CALL*)()> {
  static Result CL_API_CALL call() { return (vendor.next->*Entry)(); }
};

}  // namespace cleave::vendor
