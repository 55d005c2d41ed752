// The arguments of a call as text for the log.
//
// Numbers are decimal, handles "queue#1" (or "invalid"), strings quoted and cut at 60 characters, NULL
// "null". What a pointer points to is not known from its type: functions for which it matters add a note to
// their frame.
#pragma once

#include <CL/cl_icd.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "tests/sim/driver/core/objects.h"

namespace cleave::sim {

std::string text_of_handle(const DriverState& state, const void* handle);
std::string text_of_string(const char* string);
std::string text_of_pointer(const void* pointer);

template <class T>
std::string text_of(const DriverState& state, const T& argument) {
  if constexpr (ObjectHandle<T>) {
    return text_of_handle(state, argument);
  } else if constexpr (std::is_same_v<T, const char*>) {
    return text_of_string(argument);
  } else if constexpr (std::is_pointer_v<T>) {
    if constexpr (std::is_function_v<std::remove_pointer_t<T>>) {
      return argument == nullptr ? "null" : "function";
    } else {
      return text_of_pointer(argument);
    }
  } else {
    return std::to_string(argument);
  }
}

// "waits=[event#1 event#2]", for notes.
template <class H>
std::string text_of_list(std::string_view name, const DriverState& state, std::size_t count,
                         const H* handles) {
  std::string text(name);
  text += "=[";
  for (std::size_t i = 0; handles != nullptr && i < count; ++i) {
    if (i > 0) text += ' ';
    text += text_of_handle(state, handles[i]);
  }
  return text += ']';
}

}  // namespace cleave::sim
