// The platform and its devices, made from what the servers said at the start.
#pragma once

#include "remote/client/bodies.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// The one platform, with the devices of all servers that were met. None where there is no device. Once.
void make_platform();

// Those that clGetDeviceIDs answers with for a type.
std::vector<Object*> devices_of_type(cl_device_type type);

// Takes over what the server says of a device.
void fill_device(DeviceBody& body, const wire::Device& device);

}  // namespace cleave::remote::client
