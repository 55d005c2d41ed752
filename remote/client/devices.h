// The platform and its devices, made from what the servers said at the start.
#pragma once

#include "remote/client/connection.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// The one platform, with the devices of all servers that were met. None where there is no device. Once.
void make_platform();

// Whether a server offers what the devices' handles stand for.
bool is_as_before(std::size_t server, const wire::Welcome& welcome);

// Those that clGetDeviceIDs answers with for a type.
std::vector<Object*> devices_of_type(cl_device_type type);

// Takes over what the server says of a device.
void fill_device(DeviceBody& body, const wire::Device& device, const wire::Welcome& welcome);

// A connection on which the device can be used, a new one where that is needed and can be had until then
// (servers.h). A sub-device ends with the connection that it was made on. Null: none, which is kGone.
std::shared_ptr<Connection> reach(const DeviceBody& device, Time until);

// How long a call on a device may look for a connection.
Time soon();

// For calls on devices: ask(connection) gives an error. That an idle connection has ended may be noticed only
// when it is used; then it is asked on a new one.
template <typename Ask>
cl_int ask_at(const DeviceBody& device, Ask ask) {
  const Time until = soon();
  const auto connection = reach(device, until);
  if (connection == nullptr) return kGone;
  const cl_int error = ask(*connection);
  if (error != kGone || connection->alive()) return error;
  const auto another = reach(device, until);
  return another == nullptr ? kGone : ask(*another);
}

}  // namespace cleave::remote::client
