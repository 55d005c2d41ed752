// Contexts over several servers, and their queues.
#include <algorithm>
#include <map>

#include "remote/client/devices.h"
#include "remote/client/queries.h"
#include "remote/client/spread/api.h"
#include "remote/client/spread/bodies.h"
#include "remote/client/spread/ordering.h"
#include "remote/client/spread/overtaking.h"

namespace cleave::remote::client::spread {
namespace {

using ContextNotify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

unsigned group_of(const Object& device) { return body_of<DeviceBody>(device).group; }

bool are_of_several(const std::vector<Object*>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [&](const Object* device) { return group_of(*device) != group_of(*devices[0]); });
}

std::vector<cl_device_id> handles_of(const std::vector<Object*>& devices) {
  std::vector<cl_device_id> handles;
  handles.reserve(devices.size());
  for (Object* const device : devices) handles.push_back(objects::handle_of<cl_device_id>(device));
  return handles;
}

// In the order of the first device of each.
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

// The program's queues wait for room before their commands are decided on (turn.h), moves never do.
cl_command_queue as_urgent(cl_command_queue queue) {
  if (queue != nullptr) body_of<QueueBody>(*find(queue)).urgent = true;
  return queue;
}

cl_command_queue make_transfers(cl_context part, Object& device, cl_int& error) {
  return as_urgent(client::clCreateCommandQueue(part, objects::handle_of<cl_device_id>(&device), 0, &error));
}

// The parts know their whole, and each of them the others' connections.
void join(Object& whole, const WholeContext& body) {
  for (std::size_t i = 0; i < body.parts.size(); ++i) {
    Object& part = *find(body.parts[i]);
    ContextBody& one = body_of<ContextBody>(part);
    one.whole = &whole;
    one.part = i;
    for (std::size_t k = 0; k < body.parts.size(); ++k) {
      if (k != i) one.beside.push_back(body_of<ContextBody>(*find(body.parts[k])).connection);
    }
  }
}

// A part for each group, and a queue for moves in each.
cl_int make_parts(WholeContext& body, const cl_context_properties* properties, ContextNotify notify,
                  void* user_data) {
  cl_int error = CL_SUCCESS;
  std::vector<cl_command_queue> transfers;
  std::vector<const Connection*> connections;
  body.max_allocation = UINT64_MAX;
  for (const std::vector<Object*>& devices : by_group(body.devices)) {
    const std::vector<cl_device_id> handles = handles_of(devices);
    const cl_context part = client::clCreateContext(properties, static_cast<cl_uint>(handles.size()),
                                                    handles.data(), notify, user_data, &error);
    if (part == nullptr) break;
    Object& object = *find(part);
    object.driver = kMark;
    body.parts.push_back(part);
    const ContextBody& made = body_of<ContextBody>(object);
    body.properties = made.properties;
    body.max_allocation = std::min(body.max_allocation, made.max_allocation);
    const cl_command_queue queue = make_transfers(part, *devices[0], error);
    if (queue == nullptr) break;
    transfers.push_back(queue);
    connections.push_back(made.connection);
  }
  // The queues for moves keep the connections.
  body.ordering = std::make_shared<Ordering>(
      std::move(transfers),
      [connections = std::move(connections)](std::size_t part) { return connections[part]->alive(); });
  return error;
}

cl_context create_context(const cl_context_properties* properties, const std::vector<Object*>& devices,
                          ContextNotify notify, void* user_data, cl_int* error_ret) {
  const auto connection = reach(body_of<DeviceBody>(*devices[0]), soon());
  if (connection == nullptr) return fail<cl_context>(error_ret, kGone);
  const auto made = prepare<WholeContext>(*devices[0], *connection, 0);
  Object* const object = made.first;
  WholeContext* const body = made.second;
  if (object == nullptr) return fail<cl_context>(error_ret, CL_OUT_OF_HOST_MEMORY);
  object->driver = kMark;
  body->hold = connection;
  body->devices = devices;
  const cl_int error = make_parts(*body, properties, notify, user_data);
  if (error != CL_SUCCESS) {
    delete body;
    client.objects.discard(*object);
    return fail<cl_context>(error_ret, error);
  }
  client.objects.publish(*object, static_cast<Body*>(body));
  join(*object, *body);
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_context>(object);
}

// A queue keeps the context that the program knows.
cl_command_queue keep_whole(Object& context, cl_command_queue queue, cl_int* error_ret) {
  if (queue == nullptr) return nullptr;
  if (!client.objects.also_hold(*find(queue), context)) {
    client::clReleaseCommandQueue(queue);
    return fail<cl_command_queue>(error_ret, CL_OUT_OF_HOST_MEMORY);
  }
  QueueBody& body = body_of<QueueBody>(*find(queue));
  body.in_turn = (body.properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 &&
                 !lets_overtake(objects::handle_of<cl_context>(body.context),
                                objects::handle_of<cl_device_id>(body.device));
  return as_urgent(queue);
}

// The part that has the device; null if none has.
cl_context part_with(const Object& context, cl_device_id device) {
  const WholeContext& of = context_of(context);
  const std::size_t part = part_of(of, find(device));
  return part == of.parts.size() ? nullptr : of.parts[part];
}

}  // namespace

std::size_t part_of(const WholeContext& context, const Object* device) {
  for (std::size_t part = 0; device != nullptr && part < context.parts.size(); ++part) {
    const auto& devices = body_of<ContextBody>(*find(context.parts[part])).devices;
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) return part;
  }
  return context.parts.size();
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
  if (list.empty() || !are_of_several(list))
    return client::clCreateContext(properties, count, devices, notify, user_data, error_ret);
  return create_context(properties, list, notify, user_data, error_ret);
}

// With the devices of all servers that are there. Each is asked for once: what is not there takes its time.
cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                               ContextNotify notify, void* user_data, cl_int* error_ret) {
  begin();
  std::vector<Object*> devices = devices_of_type(type);
  std::map<std::size_t, bool> there;
  std::erase_if(devices, [&](const Object* device) {
    const DeviceBody& body = body_of<DeviceBody>(*device);
    const auto [known, is_new] = there.try_emplace(body.server, false);
    if (is_new) known->second = reach(body, soon()) != nullptr;
    return !known->second;
  });
  if (devices.empty() || !are_of_several(devices))
    return client::clCreateContextFromType(properties, type, notify, user_data, error_ret);
  return create_context(properties, devices, notify, user_data, error_ret);
}

// Those that all parts have: an image is made in each.
cl_int CL_API_CALL clGetSupportedImageFormats(cl_context handle, cl_mem_flags flags, cl_mem_object_type type,
                                              cl_uint entries, cl_image_format* formats, cl_uint* count) {
  if (entries == 0 && formats != nullptr) return CL_INVALID_VALUE;
  const WholeContext& context = context_of(*find(handle));
  std::vector<cl_image_format> common;
  bool is_first = true;
  for (std::size_t part = 0; part < context.parts.size(); ++part) {
    cl_uint there = 0;
    cl_int error = client::clGetSupportedImageFormats(context.parts[part], flags, type, 0, nullptr, &there);
    if (error != CL_SUCCESS && !connection_of(context, part).alive()) continue;
    std::vector<cl_image_format> some(there);
    if (error == CL_SUCCESS && there != 0) {
      error =
          client::clGetSupportedImageFormats(context.parts[part], flags, type, there, some.data(), nullptr);
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
  return is_first ? kGone : CL_SUCCESS;
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context handle, cl_device_id device,
                                                  cl_command_queue_properties properties, cl_int* error_ret) {
  Object& context = *find(handle);
  const cl_context part = part_with(context, device);
  if (part == nullptr) return fail<cl_command_queue>(error_ret, CL_INVALID_DEVICE);
  return keep_whole(context, client::clCreateCommandQueue(part, device, properties, error_ret), error_ret);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context handle, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* error_ret) {
  Object& context = *find(handle);
  const cl_context part = part_with(context, device);
  if (part == nullptr) return fail<cl_command_queue>(error_ret, CL_INVALID_DEVICE);
  return keep_whole(context, client::clCreateCommandQueueWithProperties(part, device, properties, error_ret),
                    error_ret);
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context handle, cl_device_id device,
                                                  cl_command_queue queue) {
  const cl_context part = part_with(*find(handle), device);
  return part == nullptr ? CL_INVALID_DEVICE : client::clSetDefaultDeviceCommandQueue(part, device, queue);
}

}  // namespace cleave::remote::client::spread
