// The order of platforms, and of a servers' platform's devices, that the settings want (remote.prefer). For faces, in answer to
// clGetPlatformIDs and clGetDeviceIDs, after install().
//
// Thread-safe.
#pragma once

#include <vector>

#include "base/opencl.h"
#include "interpose/offload/offload.h"

namespace cleave::interpose {

// Puts servers' platforms first if the settings, or what is predicted, say so; all others keep their order. The same for the whole
// process: programs remember a platform's place. May throw std::bad_alloc.
void order_platforms(std::vector<ListedPlatform>& platforms);
// As predicted now, for calls that name no platform: a server may have been lost, or be back.
void order_platforms_anew(std::vector<ListedPlatform>& platforms);
// Whether it may change their order.
[[nodiscard]] bool orders_platforms();

// Whether the order of a servers' platform's devices may be another one than the driver's.
bool orders_devices() noexcept;
void order_devices(std::vector<cl_device_id>& devices);

}  // namespace cleave::interpose
