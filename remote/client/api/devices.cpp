#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/devices/supported_extensions.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"
#include "remote/protocol/features.h"

namespace cleave::remote::client {
namespace {

constexpr Id kMaxSubDevices = 4096;

InfoCache::Key device_key(cl_uint param) { return info_key(wire::InfoSubject::device, param); }

template <typename T>
void put(InfoCache& infos, cl_uint param, const T& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  infos.put(device_key(param), {CL_SUCCESS, {bytes, bytes + sizeof value}});
}

template <typename T>
void cap(InfoCache& infos, cl_uint param, T most) {
  if (infos.find(device_key(param)) == nullptr) return;
  put(infos, param, std::min(cached<T>(infos, device_key(param), most), most));
}

template <typename T>
void mask_bits(InfoCache& infos, cl_uint param, T kept) {
  const InfoCache::Info* const info = infos.find(device_key(param));
  if (info == nullptr || info->error != CL_SUCCESS) return;
  put(infos, param, static_cast<T>(cached<T>(infos, device_key(param), 0) & kept));
}

// What cannot be carried is not promised.
void withhold_unsupported(const wire::Welcome& welcome, InfoCache& infos) {
  const std::uint64_t features = welcome.features();
  mask_bits<cl_device_exec_capabilities>(infos, CL_DEVICE_EXECUTION_CAPABILITIES, CL_EXEC_KERNEL);
  mask_bits<cl_device_svm_capabilities>(
      infos, CL_DEVICE_SVM_CAPABILITIES,
      (features & bit(Feature::svm)) != 0 ? CL_DEVICE_SVM_COARSE_GRAIN_BUFFER : 0);
  if ((features & bit(Feature::pipes)) == 0) mask_bits<cl_bool>(infos, CL_DEVICE_PIPE_SUPPORT, 0);
  mask_bits<cl_bool>(infos, CL_DEVICE_HOST_UNIFIED_MEMORY, 0);
  if (const cl_ulong most = welcome.most_memory(); most != 0) {
    cap<cl_ulong>(infos, CL_DEVICE_GLOBAL_MEM_SIZE, most);
    cap<cl_ulong>(infos, CL_DEVICE_MAX_MEM_ALLOC_SIZE, most);
  }
  const std::string extensions = only_supported(cached_string(infos, device_key(CL_DEVICE_EXTENSIONS)));
  const auto* const text = reinterpret_cast<const std::byte*>(extensions.c_str());
  infos.put(device_key(CL_DEVICE_EXTENSIONS), {CL_SUCCESS, {text, text + extensions.size() + 1}});
  if (infos.find(device_key(CL_DEVICE_EXTENSIONS_WITH_VERSION)) == nullptr) return;
  auto versions = cached_list<cl_name_version>(infos, device_key(CL_DEVICE_EXTENSIONS_WITH_VERSION));
  keep_supported(versions);
  const auto* const list = reinterpret_cast<const std::byte*>(versions.data());
  infos.put(device_key(CL_DEVICE_EXTENSIONS_WITH_VERSION),
            {CL_SUCCESS, {list, list + versions.size() * sizeof(cl_name_version)}});
}

// The sub-devices of a device, or how many of them there would be.
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
  const cl_uint is_reachable = made == nullptr ? 0 : made->size();
  if (is_reachable > kMaxSubDevices) return CL_OUT_OF_RESOURCES;
  const bool wanted = devices != nullptr && entries >= is_reachable;
  for (cl_uint i = 0; i < is_reachable; ++i) {
    const auto [device, device_body] =
        wanted ? prepare<DeviceState>(object, connection, first + i) : std::pair<Object*, DeviceState*>{};
    if (device == nullptr || devices == nullptr) {
      connection.release(first + i, true);
      if (wanted) devices[i] = nullptr;
      continue;
    }
    device_body->connection_ref = connection.shared_from_this();
    device_body->server = state.server;
    device_body->group = state.group;
    device_body->platform = state.platform;
    device_body->parent = &object;
    fill_device(*device_body, *made->Get(i), connection.welcome());
    devices[i] = objects::handle_of<cl_device_id>(
        &client.objects.publish(*device, static_cast<ObjectState*>(device_body)));
  }
  if (count != nullptr) *count = is_reachable;
  return devices != nullptr && entries < is_reachable ? CL_INVALID_VALUE : CL_SUCCESS;
}

bool is_of_type(const DeviceState& device, cl_device_type wanted, bool is_first) {
  if (wanted == CL_DEVICE_TYPE_ALL) return (device.type & CL_DEVICE_TYPE_CUSTOM) == 0;
  if ((wanted & CL_DEVICE_TYPE_DEFAULT) != 0 && is_first) return true;
  return (device.type & wanted & ~static_cast<cl_device_type>(CL_DEVICE_TYPE_DEFAULT)) != 0;
}

bool is_a_type(cl_device_type type) {
  constexpr cl_device_type kKnown = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                                    CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
  return type == CL_DEVICE_TYPE_ALL || (type != 0 && (type & ~kKnown) == 0);
}

}  // namespace

std::vector<Object*> devices_of_type(cl_device_type type) {
  std::vector<Object*> found;
  for (Object* const device : client.devices) {
    if (is_of_type(state_of<DeviceState>(*device), type, device == client.devices.front()))
      found.push_back(device);
  }
  return found;
}

void fill_device(DeviceState& state, const wire::Device& device, const wire::Welcome& welcome) {
  InfoCache& infos = state.infos;
  cache_infos(infos, device.infos());
  withhold_unsupported(welcome, infos);
  state.type = cached<cl_device_type>(infos, device_key(CL_DEVICE_TYPE), 0);
  state.max_group_size = cached<std::size_t>(infos, device_key(CL_DEVICE_MAX_WORK_GROUP_SIZE), 1);
  state.max_item_sizes = cached_list<std::size_t>(infos, device_key(CL_DEVICE_MAX_WORK_ITEM_SIZES));
  state.max_allocation = cached<cl_ulong>(infos, device_key(CL_DEVICE_MAX_MEM_ALLOC_SIZE), 0);
  state.non_uniform = cached<cl_bool>(infos, device_key(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT), 0) != 0;
}

Time default_deadline() { return std::chrono::steady_clock::now() + client.servers.timeout(); }

std::shared_ptr<Connection> live_connection(const DeviceState& device, Time until) {
  if (device.connection_ref == nullptr) return client.servers.live_connection(device.server, until);
  return device.connection_ref->alive() ? device.connection_ref : nullptr;
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id handle, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  if (handle == nullptr) begin();
  if (handle == nullptr ? client.platform == nullptr : find(handle) == nullptr) return CL_INVALID_PLATFORM;
  if (!is_a_type(type)) return CL_INVALID_DEVICE_TYPE;
  if ((entries == 0) == (devices != nullptr) || (devices == nullptr && count == nullptr))
    return CL_INVALID_VALUE;
  const std::vector<Object*> found = devices_of_type(type);
  if (found.empty()) {
    if (count != nullptr) *count = 0;
    return CL_DEVICE_NOT_FOUND;
  }
  if (count != nullptr) *count = static_cast<cl_uint>(found.size());
  for (std::size_t i = 0; devices != nullptr && i < std::min<std::size_t>(entries, found.size()); ++i) {
    devices[i] = objects::handle_of<cl_device_id>(found[i]);
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id handle, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_DEVICE;
  DeviceState& state = state_of<DeviceState>(*object);
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_DEVICE_PLATFORM:
      return output.write(objects::handle_of<cl_platform_id>(client.platform));
    case CL_DEVICE_PARENT_DEVICE:
      return output.write(objects::handle_of<cl_device_id>(state.parent));
    case CL_DEVICE_REFERENCE_COUNT:
      return output.write(references(*object));
    case CL_DEVICE_AVAILABLE:
      if (live_connection(state, default_deadline()) == nullptr)
        return output.write(static_cast<cl_bool>(CL_FALSE));
      break;
    default:
      break;
  }
  if (const InfoCache::Info* const info = state.infos.find(device_key(name)))
    return info->error != CL_SUCCESS ? info->error : output.write_list(info->bytes);
  std::vector<std::byte> bytes;
  const cl_int error = call_device(state, [&](Connection& connection) {
    return query_server(connection, wire::InfoSubject::device, state.id, 0, name, 0, {}, &state.infos, bytes);
  });
  return error != CL_SUCCESS ? error : output.write_list(bytes);
}

cl_int CL_API_CALL clCreateSubDevices(cl_device_id handle, const cl_device_partition_property* properties,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_DEVICE;
  if (properties == nullptr) return CL_INVALID_VALUE;
  // The list ends with one zero, and that of CL_DEVICE_PARTITION_BY_COUNTS with another one.
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
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_DEVICE;
  const DeviceState& state = state_of<DeviceState>(*object);
  std::vector<std::byte> bytes;
  std::shared_ptr<Connection> asked;
  const cl_int error = call_device(state, [&](Connection& connection) {
    asked = connection.shared_from_this();
    return query_server(connection, wire::InfoSubject::device_and_host_timer, state.id, 0, 0, 0, {}, nullptr,
                        bytes);
  });
  if (error != CL_SUCCESS) return error;  // a device without such a timer says so first
  if (device_time == nullptr || host_time == nullptr) return CL_INVALID_VALUE;
  if (bytes.size() < 2 * sizeof(cl_ulong)) return CL_OUT_OF_RESOURCES;
  std::memcpy(device_time, bytes.data(), sizeof *device_time);
  std::memcpy(host_time, bytes.data() + sizeof(cl_ulong), sizeof *host_time);
  *host_time = asked->to_local_time(*host_time);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetHostTimer(cl_device_id handle, cl_ulong* host_time) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_DEVICE;
  cl_ulong device_time = 0;
  return client::clGetDeviceAndHostTimer(handle, &device_time, host_time);
}

}  // namespace cleave::remote::client
