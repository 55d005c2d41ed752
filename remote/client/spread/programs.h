// What the files about programs over several servers share.
#pragma once

#include <vector>

#include "remote/client/spread/bodies.h"

namespace cleave::remote::client::spread {

// A program's, or a context's, devices: those that the program listed of each part, in its order, and where
// in its list.
struct Split {
  std::vector<std::vector<cl_device_id>> devices;  // one list for each part
  std::vector<std::vector<std::size_t>> places;
};

// CL_INVALID_DEVICE if one is not among `known`.
cl_int split(const WholeContext& context, const std::vector<Object*>& known, cl_uint count,
             const cl_device_id* list, Split& split);

// Of a new program. `devices` are those that it is for.
template <typename Make>
cl_program create_program(Object& context, const std::vector<Object*>& devices, cl_int* error_ret,
                          Make make) {
  return create<WholeProgram>(context, context, error_ret, make,
                              [&](WholeProgram& body, const ProgramBody& part) {
                                body.context = &context;
                                body.devices = devices;
                                body.source = part.source;
                                body.il = part.il;
                              });
}

inline WholeProgram& program_of(cl_program handle) { return body_of<WholeProgram>(*find(handle)); }

}  // namespace cleave::remote::client::spread
