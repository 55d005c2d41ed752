// Creating contexts over several servers, and their queues.
#include <algorithm>
#include <map>

#include "remote/client/devices/catalog.h"
#include "remote/client/link/info_query.h"
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/command_order.h"
#include "remote/client/multi_server/composite.h"
#include "remote/client/multi_server/out_of_order_probe.h"

namespace cleave::remote::client::multi_server {
namespace {

using ContextNotify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

unsigned group_of(const Object& device) { return state_of<DeviceState>(device).group; }

bool span_several_groups(const std::vector<Object*>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [&](const Object* device) { return group_of(*device) != group_of(*devices[0]); });
}

std::vector<cl_device_id> handles_of(const std::vector<Object*>& devices) {
  std::vector<cl_device_id> handles;
  handles.reserve(devices.size());
  for (Object* const device : devices) handles.push_back(objects::handle_of<cl_device_id>(device));
  return handles;
}

// In the order of each group's first device.
std::vector<std::vector<Object*>> by_group(const std::vector<Object*>& devices) {
  std::vector<std::vector<Object*>> groups;
  for (Object* const device : devices) {
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& one) { return group_of(*one[0]) == group_of(*device); });
    if (group == groups.end()) {
      groups.push_back({device});
    } else {
      group->push_back(device);
    }
  }
  return groups;
}

// The program's commands wait for room in the windows before they are ordered (queued_command.h), migrations never do.
cl_command_queue as_urgent(cl_command_queue queue) {
  if (queue != nullptr) state_of<QueueState>(object_of(queue)).urgent = true;
  return queue;
}

cl_command_queue create_migration_queue(cl_context shard, Object& device, cl_int& error) {
  return as_urgent(client::clCreateCommandQueue(shard, objects::handle_of<cl_device_id>(&device), 0, &error));
}

// Gives the shards their composite, and each other's connections.
void link_shards(Object& composite, const CompositeContext& state) {
  for (std::size_t i = 0; i < state.shards.size(); ++i) {
    Object& shard = object_of(state.shards[i]);
    ContextState& one = state_of<ContextState>(shard);
    one.composite = &composite;
    one.shard = i;
    for (std::size_t k = 0; k < state.shards.size(); ++k) {
      if (k != i) one.siblings.push_back(state_of<ContextState>(object_of(state.shards[k])).connection);
    }
  }
}

// Creates a shard for each group, and a queue for migrations in each.
cl_int create_shards(CompositeContext& state, const cl_context_properties* properties, ContextNotify notify,
                     void* user_data) {
  cl_int error = CL_SUCCESS;
  std::vector<cl_command_queue> migration_queue;
  std::vector<const Connection*> connections;
  state.max_allocation = UINT64_MAX;
  for (const std::vector<Object*>& devices : by_group(state.devices)) {
    const std::vector<cl_device_id> handles = handles_of(devices);
    const cl_context shard = client::clCreateContext(properties, static_cast<cl_uint>(handles.size()),
                                                     handles.data(), notify, user_data, &error);
    if (shard == nullptr) break;
    Object& object = object_of(shard);
    object.driver = kMultiServerMark;
    state.shards.push_back(shard);
    const ContextState& made = state_of<ContextState>(object);
    state.properties = made.properties;
    state.max_allocation = std::min(state.max_allocation, made.max_allocation);
    const cl_command_queue queue = create_migration_queue(shard, *devices[0], error);
    if (queue == nullptr) break;
    migration_queue.push_back(queue);
    connections.push_back(made.connection);
  }
  // The queues keep the connections.
  state.order = std::make_shared<CommandOrder>(
      std::move(migration_queue),
      [connections = std::move(connections)](std::size_t shard) { return connections[shard]->alive(); });
  return error;
}

cl_context create_context(const cl_context_properties* properties, const std::vector<Object*>& devices,
                          ContextNotify notify, void* user_data, cl_int* error_ret) {
  const auto connection = live_connection(state_of<DeviceState>(*devices[0]), default_deadline());
  if (connection == nullptr) return fail<cl_context>(error_ret, kConnectionLost);
  NewObject<CompositeContext> made(*devices[0], *connection, 0);
  if (!made) return fail<cl_context>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made.object().driver = kMultiServerMark;
  made->connection_ref = connection;
  made->devices = devices;
  const cl_int error = create_shards(*made, properties, notify, user_data);
  if (error == CL_SUCCESS) link_shards(made.object(), *made);
  return made.finish(error, error_ret);
}

// Lets a queue keep the context that the program knows.
cl_command_queue attach_to_composite(Object& context, cl_command_queue queue, cl_int* error_ret) {
  if (queue == nullptr) return nullptr;
  if (!client.objects.add_parent(object_of(queue), context)) {
    client::clReleaseCommandQueue(queue);
    return fail<cl_command_queue>(error_ret, CL_OUT_OF_HOST_MEMORY);
  }
  QueueState& state = state_of<QueueState>(object_of(queue));
  state.runs_in_order = (state.properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 &&
                        !runs_out_of_order(objects::handle_of<cl_context>(state.context),
                                           objects::handle_of<cl_device_id>(state.device));
  return as_urgent(queue);
}

// The shard that has the device, or null.
cl_context shard_with(const Object& context, cl_device_id device) {
  const CompositeContext& of = context_of(context);
  const std::size_t shard = shard_of(of, find(device));
  return shard == of.shards.size() ? nullptr : of.shards[shard];
}

}  // namespace

std::size_t shard_of(const CompositeContext& context, const Object* device) {
  for (std::size_t shard = 0; device != nullptr && shard < context.shards.size(); ++shard) {
    const auto& devices = state_of<ContextState>(object_of(context.shards[shard])).devices;
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) return shard;
  }
  return context.shards.size();
}

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* devices, ContextNotify notify, void* user_data,
                                       cl_int* error_ret) {
  std::vector<Object*> list;
  for (cl_uint i = 0; devices != nullptr && i < count; ++i) {
    Object* const device = find(devices[i]);
    if (device == nullptr) return fail<cl_context>(error_ret, CL_INVALID_DEVICE);
    if (std::find(list.begin(), list.end(), device) == list.end()) list.push_back(device);
  }
  if (list.empty() || !span_several_groups(list))
    return client::clCreateContext(properties, count, devices, notify, user_data, error_ret);
  return create_context(properties, list, notify, user_data, error_ret);
}

// Uses the devices of all reachable servers. Each server is tried once, since an unreachable one costs a timeout.
cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                               ContextNotify notify, void* user_data, cl_int* error_ret) {
  initialize();
  std::vector<Object*> devices = devices_of_type(type);
  std::map<std::size_t, bool> reachable;
  std::erase_if(devices, [&](const Object* device) {
    const DeviceState& state = state_of<DeviceState>(*device);
    const auto [known, is_new] = reachable.try_emplace(state.server, false);
    if (is_new) known->second = live_connection(state, default_deadline()) != nullptr;
    return !known->second;
  });
  if (devices.empty() || !span_several_groups(devices))
    return client::clCreateContextFromType(properties, type, notify, user_data, error_ret);
  return create_context(properties, devices, notify, user_data, error_ret);
}

// The formats that all shards support, since an image is created in each.
cl_int CL_API_CALL clGetSupportedImageFormats(cl_context handle, cl_mem_flags flags, cl_mem_object_type type,
                                              cl_uint entries, cl_image_format* formats, cl_uint* count) {
  if (entries == 0 && formats != nullptr) return CL_INVALID_VALUE;
  const CompositeContext& context = context_of(object_of(handle));
  std::vector<cl_image_format> common;
  bool is_first = true;
  for (std::size_t shard = 0; shard < context.shards.size(); ++shard) {
    cl_uint available = 0;
    cl_int error =
        client::clGetSupportedImageFormats(context.shards[shard], flags, type, 0, nullptr, &available);
    if (error != CL_SUCCESS && !connection_of(context, shard).alive()) continue;
    std::vector<cl_image_format> some(available);
    if (error == CL_SUCCESS && available != 0) {
      error = client::clGetSupportedImageFormats(context.shards[shard], flags, type, available, some.data(),
                                                 nullptr);
    }
    if (error != CL_SUCCESS) return error;
    if (std::exchange(is_first, false)) common = some;
    std::erase_if(common, [&](const cl_image_format& one) {
      return std::none_of(some.begin(), some.end(), [&](const cl_image_format& other) {
        return one.image_channel_order == other.image_channel_order &&
               one.image_channel_data_type == other.image_channel_data_type;
      });
    });
  }
  if (count != nullptr) *count = static_cast<cl_uint>(common.size());
  if (formats != nullptr) std::copy_n(common.begin(), std::min<std::size_t>(entries, common.size()), formats);
  return is_first ? kConnectionLost : CL_SUCCESS;
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context handle, cl_device_id device,
                                                  cl_command_queue_properties properties, cl_int* error_ret) {
  Object& context = object_of(handle);
  const cl_context shard = shard_with(context, device);
  if (shard == nullptr) return fail<cl_command_queue>(error_ret, CL_INVALID_DEVICE);
  return attach_to_composite(context, client::clCreateCommandQueue(shard, device, properties, error_ret),
                             error_ret);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context handle, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* error_ret) {
  Object& context = object_of(handle);
  const cl_context shard = shard_with(context, device);
  if (shard == nullptr) return fail<cl_command_queue>(error_ret, CL_INVALID_DEVICE);
  return attach_to_composite(
      context, client::clCreateCommandQueueWithProperties(shard, device, properties, error_ret), error_ret);
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context handle, cl_device_id device,
                                                  cl_command_queue queue) {
  const cl_context shard = shard_with(object_of(handle), device);
  return shard == nullptr ? CL_INVALID_DEVICE : client::clSetDefaultDeviceCommandQueue(shard, device, queue);
}

}  // namespace cleave::remote::client::multi_server
