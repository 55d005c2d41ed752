// The platform and its devices, made from what the servers said at the start.
#pragma once

#include "remote/client/link/connection.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// The one platform, with the devices of all servers that were met. None where there is no device. Once.
void make_platform();

// Whether a server offers what the devices' handles stand for.
bool has_same_devices(std::size_t server, const wire::Welcome& welcome);

// Those that clGetDeviceIDs answers with for a type.
std::vector<Object*> devices_of_type(cl_device_type type);

// Takes over what the server says of a device.
void fill_device(DeviceState& state, const wire::Device& device, const wire::Welcome& welcome);

// A connection on which the device can be used, a new one where that is needed and can be had until then
// (servers.h). A sub-device ends with the connection that it was made on. Null: none, which is kConnectionLost.
std::shared_ptr<Connection> live_connection(const DeviceState& device, Time until);

// How long a call on a device may look for a connection.
Time default_deadline();

// For calls on devices: ask(connection) gives an error. That an idle connection has ended may be noticed only
// when it is used; then it is asked on a new one.
template <typename Call>
cl_int call_device(const DeviceState& device, Call call) {
  const Time until = default_deadline();
  const auto connection = live_connection(device, until);
  if (connection == nullptr) return kConnectionLost;
  const cl_int error = call(*connection);
  if (error != kConnectionLost || connection->alive()) return error;
  const auto another = live_connection(device, until);
  return another == nullptr ? kConnectionLost : call(*another);
}

}  // namespace cleave::remote::client
