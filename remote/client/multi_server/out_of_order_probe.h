// Whether a device's driver lets commands overtake each other on a queue out of order.
//
// It may, and programs may not count on it. Some drivers (NVIDIA's) run such a queue in order: what waits for
// a user event holds up all behind it. Then a command behind an open one must not be decided on before that
// (ordering.h).
//
// Thread-safe.
#pragma once

#include "base/opencl.h"

namespace cleave::remote::client::multi_server {

// Found out by trying, once for each device, on queues of its own; that takes a moment where nothing
// overtakes. False, and tried anew the next time, where the device had no time for it.
bool runs_out_of_order(cl_context shard, cl_device_id device);

}  // namespace cleave::remote::client::multi_server
