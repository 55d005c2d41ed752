// How each function is translated: the column `handles` of opencl/functions.def and opencl/extension_functions.def.
#pragma once

#include <cstddef>
#include <cstdint>

#include "icd/vendor/callbacks.h"
#include "icd/vendor/functions.h"
#include "icd/vendor/handle_queries.h"
#include "icd/vendor/reference_counting.h"
#include "icd/vendor/translate.h"

namespace cleave::vendor {

namespace handles {

// The words of the column, other than answers(...), null_allowed(...) and creates(...).
enum class Translation : std::uint8_t {
  by_type,
  checked_by_type,
  retained,
  released,
  destructor_callback,
  by_hand,
  not_offered,
};
using enum Translation;

struct NullAllowed {
  std::size_t parameter;
};
constexpr NullAllowed null_allowed(std::size_t parameter) { return {parameter}; }

template <typename Handle>
struct Creates {
  cl_int (CL_API_CALL* Table::*release)(Handle);
};
template <typename Handle>
constexpr Creates<Handle> creates(cl_int (CL_API_CALL* Table::*release)(Handle)) {
  return {release};
}

// `column` is one of the types above, or HandleAnswers.
template <auto Entry>
struct Row;
#define CL_FUNCTION(version, name, parameters, interposer, handles, ...)         \
  template <>                                                                    \
  struct Row<&Table::name> {                                                     \
    static constexpr auto column = handles;                                      \
    static constexpr auto by_hand_function() { return &::cleave::vendor::name; } \
  };
#include "opencl/functions.def"
#undef CL_FUNCTION
#define CL_EXTENSION(extension, name, interposer, handles, ...)                  \
  template <>                                                                    \
  struct Row<&ExtensionFunctions::name> {                                        \
    static constexpr auto column = handles;                                      \
    static constexpr auto by_hand_function() { return &::cleave::vendor::name; } \
  };
#include "opencl/extension_functions.def"
#undef CL_EXTENSION

}  // namespace handles

// Whether programs can have the function of an extension.
template <auto Entry>
constexpr bool is_offered() {
  if constexpr (std::is_same_v<decltype(handles::Row<Entry>::column), const handles::Translation>) {
    return handles::Row<Entry>::column != handles::not_offered;
  } else {
    return true;
  }
}

// What programs call in place of `Entry`; null where it is not offered.
template <auto Entry>
constexpr FunctionAt<Entry> translated() {
  using Row = handles::Row<Entry>;
  if constexpr (std::is_same_v<decltype(Row::column), const HandleAnswers>) {
    return HandleQuery<Entry, Row::column>::call;
  } else if constexpr (std::is_same_v<decltype(Row::column), const handles::NullAllowed>) {
    return TranslatedCall<Entry, Row::column.parameter>::call;
  } else if constexpr (requires { Row::column.release; }) {
    return ListCreation<Entry, Row::column.release>::call;
  } else if constexpr (Row::column == handles::retained) {
    return Retain<Entry>::call;
  } else if constexpr (Row::column == handles::released) {
    return Release<Entry>::call;
  } else if constexpr (Row::column == handles::destructor_callback) {
    return DestructorCallback<Entry>::call;
  } else if constexpr (Row::column == handles::by_hand) {
    return Row::by_hand_function();
  } else if constexpr (Row::column == handles::not_offered) {
    return nullptr;
  } else {
    static_assert(Row::column == handles::checked_by_type || TranslatableByType<FunctionAt<Entry>>::enough,
                  "its types do not show all handles: use by_hand, or checked_by_type");
    return TranslatedCall<Entry>::call;
  }
}

}  // namespace cleave::vendor
