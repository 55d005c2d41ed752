// The one platform and its devices, made from what the servers offered when they were first reached.
//
// Thread-safe: the catalog is written by make_platform(), before the program has a handle, and constant afterwards;
// Servers synchronizes itself.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/no_destructor.h"
#include "remote/client/link/connection.h"
#include "remote/client/link/servers.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

struct Catalog {
  Servers servers;
  bool original_name = false;    // the platform is presented by its driver's name (platform_names)
  std::vector<Object*> devices;  // root devices of all servers, in the order of the list of servers
  Id only_platform = 0;          // of the server's, if it is the only one
  // What all servers' platforms have in common. Without a device there is no platform.
  Object* platform = nullptr;
  std::map<cl_uint, std::string> platform_texts;
  std::vector<cl_name_version> platform_extensions;
  cl_version platform_version = 0;
  cl_ulong timer_resolution = 0;
};

// Never destroyed: programs call OpenCL from exit handlers, too.
extern base::NoDestructor<Catalog> catalog_storage;
inline constinit Catalog& catalog = *catalog_storage;

// Creates the platform with the devices of all servers that are connected. Once.
void make_platform();

// Whether a server still offers the devices that the program's handles stand for.
bool has_same_devices(std::size_t server, const wire::Welcome& welcome);

// The devices of a type, as the specification has it.
std::vector<Object*> devices_of_type(cl_device_type type);

// The same as clGetDeviceIDs returns them, with its error. What types mean that the specification does not name (no type, unknown
// bits, the default among others) is the driver's to say where the platform is that of one driver.
cl_int find_devices(cl_device_type type, std::vector<Object*>& found);

// A connection on which the device can be used. A new one is opened if needed and possible by `until`; a sub-device can
// only be used on the connection on which it was created. Null: none.
std::shared_ptr<Connection> live_connection(const DeviceState& device, Time until);

// Until when a call on a device may try to connect.
Time default_deadline();

// For calls on devices; call(connection) returns an error. That an idle connection has ended may be noticed only when it
// is used: then the call is repeated on a new one.
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
