// Whether a device's driver runs commands of out-of-order queues out of order.
//
// It may, and programs cannot rely on it. Some drivers (NVIDIA's) run such queues in order: a command that waits for a user
// event blocks everything behind it. Then a command behind a deferred one must be deferred as well (command_order.h).
//
// Thread-safe.
#pragma once

#include "base/opencl.h"

namespace cleave::remote::client::multi_server {

// Probed once for each device, on queues of its own, which takes up to twice kReorderGrace if commands run in order. Returns
// false, and probes again next time, if the device was too busy to tell.
bool runs_out_of_order(cl_context shard, cl_device_id device);

}  // namespace cleave::remote::client::multi_server
