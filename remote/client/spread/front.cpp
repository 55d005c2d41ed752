#include "remote/client/spread/front.h"

#include "remote/client/spread/api.h"
#include "remote/client/spread/bodies.h"

namespace cleave::remote::client::spread {
namespace {

template <auto kOne, auto kSeveral>
struct Front;

// By the function's first parameter, a handle: a look at the object that the call looks at anyway.
template <typename Result, typename Handle, typename... Others, Result(CL_API_CALL* kOne)(Handle, Others...),
          Result(CL_API_CALL* kSeveral)(Handle, Others...)>
struct Front<kOne, kSeveral> {
  static Result CL_API_CALL call(Handle handle, Others... others) {
    const Object* const object = find(handle);
    if (object != nullptr && is_spread(*object)) [[unlikely]]
      return kSeveral(handle, others...);
    return kOne(handle, others...);
  }
};

}  // namespace

void lead(Table& table) {
#define CLEAVE_SPREAD(name) table.name = &Front<&client::name, &spread::name>::call;
#include "remote/client/spread/list.def"
#undef CLEAVE_SPREAD
  table.clCreateContext = &spread::clCreateContext;
  table.clCreateContextFromType = &spread::clCreateContextFromType;
}

}  // namespace cleave::remote::client::spread
