#include "remote/client/multi_server/overrides.h"

#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/composite.h"

namespace cleave::remote::client::multi_server {
namespace {

template <auto kSingle, auto kMulti>
struct SelectByObject;

// By the function's first parameter, a handle: a look at the object that the call looks at anyway.
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

}  // namespace

void install_overrides(Table& table) {
#define CLEAVE_MULTI_SERVER(name) table.name = &SelectByObject<&client::name, &multi_server::name>::call;
#include "remote/client/multi_server/overrides.def"
#undef CLEAVE_MULTI_SERVER
  table.clCreateContext = &multi_server::clCreateContext;
  table.clCreateContextFromType = &multi_server::clCreateContextFromType;
}

}  // namespace cleave::remote::client::multi_server
