// Shared by the files about programs over several servers. Thread-safe.
#pragma once

#include <vector>

#include "remote/client/multi_server/composite.h"

namespace cleave::remote::client::multi_server {

// A list of devices, divided by shard: for each shard its devices in the list's order, and their places in the list.
struct DevicesByShard {
  std::vector<std::vector<cl_device_id>> devices;  // one list for each shard
  std::vector<std::vector<std::size_t>> places;
};

// CL_INVALID_DEVICE if one is not among `known`.
cl_int split_by_shard(const CompositeContext& context, const std::vector<Object*>& known, cl_uint count,
                      const cl_device_id* list, DevicesByShard& result);

// Creates a program for these devices.
template <typename Make>
cl_program create_program(Object& context, const std::vector<Object*>& devices, cl_int* error_ret,
                          Make make) {
  return create_composite<CompositeProgram>(context, context, error_ret, make,
                                            [&](CompositeProgram& state, const ProgramState& shard) {
                                              state.context = &context;
                                              state.devices = devices;
                                              state.source = shard.source;
                                              state.il = shard.il;
                                            });
}

inline CompositeProgram& program_of(cl_program handle) {
  return state_of<CompositeProgram>(object_of(handle));
}

}  // namespace cleave::remote::client::multi_server
