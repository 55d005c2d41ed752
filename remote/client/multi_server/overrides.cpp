#include "remote/client/multi_server/overrides.h"

#include <exception>
#include <type_traits>

#include "opencl/missing_functions.h"
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/composite.h"
#include "remote/client/multi_server/derived_memory_calls.h"

namespace cleave::remote::client::multi_server {
namespace {

using opencl::FunctionAt;

// The words of the column, besides uses(...).
enum class Remote : std::uint8_t { common, separate, separate_by_devices, one_server, not_carried };

template <auto kSingle, auto kMulti>
struct SelectByObject;

// By the function's first parameter, a handle: one check of an object that the call looks up anyway.
template <typename Result, typename Handle, typename... Others,
          Result(CL_API_CALL* kSingle)(Handle, Others...), Result(CL_API_CALL* kMulti)(Handle, Others...)>
struct SelectByObject<kSingle, kMulti> {
  static Result CL_API_CALL call(Handle handle, Others... others) {
    const Object* const object = find(handle);
    if (object != nullptr && is_multi_server(*object)) [[unlikely]]
      return kMulti(handle, others...);
    return kSingle(handle, others...);
  }
};

// `column` is what the row says, a Remote or Uses.
template <auto Entry, auto column, auto kSingle, auto kMulti>
constexpr FunctionAt<Entry> function_for() {
  constexpr FunctionAt<Entry> kRefusal =
      opencl::MissingFunction<FunctionAt<Entry>, CL_INVALID_OPERATION>::call;
  if constexpr (std::is_same_v<std::remove_const_t<decltype(column)>, Uses>) {
    return SelectByObject<kSingle, &MemoryCommand<kSingle, column>::call>::call;
  } else if constexpr (column == Remote::separate) {
    return SelectByObject<kSingle, kMulti>::call;
  } else if constexpr (column == Remote::separate_by_devices) {
    return kMulti;
  } else if constexpr (column == Remote::one_server) {
    return SelectByObject<kSingle, kRefusal>::call;
  } else if constexpr (column == Remote::not_carried) {
    return kRefusal;
  } else {
    static_assert(column == Remote::common);
    return kSingle;
  }
}

// The edge of the library: nothing is thrown into a program. It is for want of memory, or since a size exceeds all memory.
template <auto kFunction>
struct Guarded;

template <typename Result, typename... Parameters, Result(CL_API_CALL* kFunction)(Parameters...)>
struct Guarded<kFunction> {
  static Result CL_API_CALL call(Parameters... parameters) {
    try {
      return kFunction(parameters...);
    } catch (const std::exception&) {  // and not the cancellation of a thread
      return opencl::failed<Result>(CL_OUT_OF_HOST_MEMORY, parameters...);
    }
  }
};

template <typename... Accesses>
constexpr Uses uses(Accesses... accesses) {
  return {{accesses...}, sizeof...(accesses)};
}

}  // namespace

Table make_functions() {
  using enum Access;
  using enum Remote;
  Table table{};
#define CL_FUNCTION(version, name, parameters, interposer, handles, remote, ...) \
  table.name = Guarded<function_for<&Table::name, remote, &client::name, &multi_server::name>()>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
  return table;
}

}  // namespace cleave::remote::client::multi_server
