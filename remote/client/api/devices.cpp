// Device functions.
#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/devices/capabilities.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

constexpr Id kMaxSubDevices = 4096;

cl_device_id create_sub_device(Connection& connection, Object& parent, Id id, const wire::Device& device) {
  const DeviceState& of = state_of<DeviceState>(parent);
  NewObject<DeviceState> made(parent, connection, id);
  if (!made) return nullptr;
  made->connection_ref = connection.shared_from_this();
  made->server = of.server;
  made->group = of.group;
  made->parent = &parent;
  fill_device(*made, device, connection.welcome());
  return made.finish(CL_SUCCESS, nullptr);
}

// Creates sub-devices, or only counts them if there is no room for them.
cl_int create_sub_devices(Connection& connection, Object& object, const std::vector<std::int64_t>& how,
                          cl_uint entries, cl_device_id* devices, cl_uint* count) {
  const DeviceState& state = state_of<DeviceState>(object);
  const Id first = connection.new_ids(kMaxSubDevices);
  PendingRequest pending;
  const cl_int error = connection.call({}, pending, [&](auto& b) {
    return wire::CreateCreateSubDevices(b, first, state.id, b.CreateVector(how));
  });
  if (error != CL_SUCCESS) return error;
  const auto* const made = pending.answer() == nullptr ? nullptr : pending.answer()->devices();
  const cl_uint available = made == nullptr ? 0 : made->size();
  if (available > kMaxSubDevices) return CL_OUT_OF_RESOURCES;
  const bool wanted = devices != nullptr && entries >= available;
  for (cl_uint i = 0; i < available; ++i) {
    if (wanted) devices[i] = create_sub_device(connection, object, first + i, *made->Get(i));
    if (!wanted || devices[i] == nullptr) connection.release(first + i, true);
  }
  if (devices != nullptr && !wanted) return CL_INVALID_VALUE;
  if (count != nullptr) *count = available;
  return CL_SUCCESS;
}

}  // namespace

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id handle, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  if (handle == nullptr) initialize();
  if (handle == nullptr ? catalog.platform == nullptr : find(handle) == nullptr) return CL_INVALID_PLATFORM;
  if (devices == nullptr ? count == nullptr : entries == 0) return CL_INVALID_VALUE;
  std::vector<Object*> found;
  if (const cl_int error = find_devices(type, found); error != CL_SUCCESS) return error;
  if (count != nullptr) *count = static_cast<cl_uint>(found.size());
  for (std::size_t i = 0; devices != nullptr && i < std::min<std::size_t>(entries, found.size()); ++i) {
    devices[i] = objects::handle_of<cl_device_id>(found[i]);
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id handle, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret) {
  DeviceState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_DEVICE;
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_DEVICE_PLATFORM:
      return output.write(objects::handle_of<cl_platform_id>(catalog.platform));
    case CL_DEVICE_PARENT_DEVICE:
      return output.write(objects::handle_of<cl_device_id>(state->parent));
    case CL_DEVICE_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_DEVICE_AVAILABLE:
      if (live_connection(*state, default_deadline()) == nullptr)
        return output.write(static_cast<cl_bool>(CL_FALSE));
      break;
    default:
      break;
  }
  // Cached values need no connection.
  if (const InfoCache::Info* const info = state->infos.find(info_key(wire::InfoSubject::device, name)))
    return info->error != CL_SUCCESS ? info->error : output.write_list(info->bytes);
  return call_device(*state, [&](Connection& connection) {
    return cached_or_queried(connection, state->infos, {wire::InfoSubject::device, state->id, name}, output);
  });
}

cl_int CL_API_CALL clCreateSubDevices(cl_device_id handle, const cl_device_partition_property* properties,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_DEVICE;
  if (properties == nullptr || (devices == nullptr ? count == nullptr : entries == 0))
    return CL_INVALID_VALUE;
  // The list ends with a zero, and one of CL_DEVICE_PARTITION_BY_COUNTS with another zero.
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; properties[i] != 0 && list.size() < kMaxSubDevices; ++i)
    list.push_back(properties[i]);
  if (!list.empty() && list[0] == CL_DEVICE_PARTITION_BY_COUNTS)
    list.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
  return call_device(state_of<DeviceState>(*object), [&](Connection& connection) {
    return create_sub_devices(connection, *object, list, entries, devices, count);
  });
}

cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id handle, cl_ulong* device_time, cl_ulong* host_time) {
  const DeviceState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_DEVICE;
  std::vector<std::byte> bytes;
  std::shared_ptr<Connection> used;
  const cl_int error = call_device(*state, [&](Connection& connection) {
    used = connection.shared_from_this();
    return query_server(connection, {wire::InfoSubject::device_and_host_timer, state->id}, bytes);
  });
  if (error != CL_SUCCESS) return error;  // comes first if the device has no such timer
  if (device_time == nullptr || host_time == nullptr) return CL_INVALID_VALUE;
  if (bytes.size() < 2 * sizeof(cl_ulong)) return CL_OUT_OF_RESOURCES;
  std::memcpy(device_time, bytes.data(), sizeof *device_time);
  std::memcpy(host_time, bytes.data() + sizeof(cl_ulong), sizeof *host_time);
  *host_time = used->to_local_time(*host_time);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetHostTimer(cl_device_id handle, cl_ulong* host_time) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_DEVICE;
  cl_ulong device_time = 0;
  return client::clGetDeviceAndHostTimer(handle, &device_time, host_time);
}

}  // namespace cleave::remote::client
