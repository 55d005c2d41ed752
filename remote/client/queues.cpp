#include <algorithm>

#include "remote/client/api.h"
#include "remote/client/info.h"
#include "remote/client/queries.h"
#include "remote/client/state.h"

namespace cleave::remote::client {
namespace {

struct Wanted {
  cl_command_queue_properties properties = 0;
  std::vector<cl_queue_properties> list;  // as the program gave it, with the ending zero
  std::vector<std::uint64_t> sent;
  bool plain = false;
};

cl_command_queue create(cl_context context_handle, cl_device_id device_handle, const Wanted& wanted,
                        cl_int* error_ret) {
  Object* const context = find(context_handle);
  if (context == nullptr) return fail<cl_command_queue>(error_ret, CL_INVALID_CONTEXT);
  Object* const device = find(device_handle);
  const ContextBody& of = body_of<ContextBody>(*context);
  if (device == nullptr || std::find(of.devices.begin(), of.devices.end(), device) == of.devices.end())
    return fail<cl_command_queue>(error_ret, CL_INVALID_DEVICE);
  Connection& connection = *of.connection;
  const auto both = prepare<QueueBody>(*context, connection, connection.new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_command_queue>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->context = context;
  body->device = device;
  body->properties = wanted.properties;
  body->list = wanted.list;
  Pending pending;
  const cl_int error = connection.ask({}, pending, [&](auto& b) {
    return wire::CreateCreateQueue(b, body->id, of.id, body_of<DeviceBody>(*device).id,
                                   b.CreateVector(wanted.sent), wanted.plain);
  });
  if (error != CL_SUCCESS) {
    delete body;
    client.objects.discard(*object);
    return fail<cl_command_queue>(error_ret, error);
  }
  client.objects.publish(*object, static_cast<Body*>(body));
  connection.introduce(*object);
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_command_queue>(object);
}

// The answer has its id, or zero.
cl_int default_device_queue(const QueueBody& body, const Answer& answer) {
  std::vector<std::byte> bytes;
  const cl_int error = ask_server(*body.connection, wire::What::queue, body.id, 0, CL_QUEUE_DEVICE_DEFAULT, 0,
                                  {}, nullptr, bytes);
  if (error != CL_SUCCESS) return error;
  Id id = 0;
  if (bytes.size() == sizeof id) std::memcpy(&id, bytes.data(), sizeof id);
  Object* queue = id == 0 ? nullptr : body.connection->introduced(id);
  if (queue != nullptr && queue->kind != Kind::queue) queue = nullptr;
  return answer.give(objects::handle_of<cl_command_queue>(queue));
}

}  // namespace

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties, cl_int* error_ret) {
  return create(context, device, {properties, {}, {properties}, true}, error_ret);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* error_ret) {
  Wanted wanted;
  for (const cl_queue_properties* pair = properties; pair != nullptr && *pair != 0; pair += 2) {
    if (pair[0] == CL_QUEUE_PROPERTIES) wanted.properties = pair[1];
    wanted.list.insert(wanted.list.end(), pair, pair + 2);
    wanted.sent.insert(wanted.sent.end(), pair, pair + 2);
  }
  if (properties != nullptr) wanted.list.push_back(0);
  return create(context, device, wanted, error_ret);
}

cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties properties,
                                             cl_bool enable, cl_command_queue_properties* old) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_COMMAND_QUEUE;
  QueueBody& body = body_of<QueueBody>(*object);
  Pending pending;
  const cl_int error = body.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateSetQueueProperty(b, body.id, properties, enable != CL_FALSE);
  });
  if (error != CL_SUCCESS) return error;
  if (old != nullptr) *old = pending.value;
  const cl_command_queue_properties before = body.properties.load();
  body.properties = enable != CL_FALSE ? before | properties : before & ~properties;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info name, size_t size,
                                         void* value, size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_COMMAND_QUEUE;
  const QueueBody& body = body_of<QueueBody>(*object);
  const Answer answer{size, value, size_ret};
  switch (name) {
    case CL_QUEUE_CONTEXT:
      return answer.give(objects::handle_of<cl_context>(known_context(body.context)));
    case CL_QUEUE_DEVICE:
      return answer.give(objects::handle_of<cl_device_id>(body.device));
    case CL_QUEUE_REFERENCE_COUNT:
      return answer.give(references(*object));
    case CL_QUEUE_PROPERTIES:
      return answer.give(body.properties.load());
    case CL_QUEUE_DEVICE_DEFAULT:
      return default_device_queue(body, answer);
    case CL_QUEUE_PROPERTIES_ARRAY:
      return answer.give_list(body.list);
    default: {
      std::vector<std::byte> bytes;
      const cl_int error =
          ask_server(*body.connection, wire::What::queue, body.id, 0, name, 0, {}, nullptr, bytes);
      return error != CL_SUCCESS ? error : answer.give_list(bytes);
    }
  }
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context_handle, cl_device_id device_handle,
                                                  cl_command_queue queue_handle) {
  Object* const context = find(context_handle);
  if (context == nullptr) return CL_INVALID_CONTEXT;
  Object* const device = find(device_handle);
  if (device == nullptr) return CL_INVALID_DEVICE;
  // Of no queue the driver has an opinion, too.
  Object* const queue = find(queue_handle);
  if (queue == nullptr && queue_handle != nullptr) return CL_INVALID_COMMAND_QUEUE;
  const ContextBody& of = body_of<ContextBody>(*context);
  if (queue != nullptr && body_of<QueueBody>(*queue).connection != of.connection)
    return CL_INVALID_COMMAND_QUEUE;
  Pending pending;
  return of.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateSetDefaultDeviceQueue(b, of.id, body_of<DeviceBody>(*device).id,
                                             queue == nullptr ? 0 : body_of<QueueBody>(*queue).id);
  });
}

cl_int CL_API_CALL clFlush(cl_command_queue handle) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_COMMAND_QUEUE;
  const QueueBody& body = body_of<QueueBody>(*object);
  const cl_int error =
      body.connection->post({.queue = body.id}, [](auto& b) { return wire::CreateFlushQueue(b); });
  body.connection->flush();
  return error;
}

cl_int CL_API_CALL clFinish(cl_command_queue handle) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_COMMAND_QUEUE;
  QueueBody& body = body_of<QueueBody>(*object);
  Pending pending;
  pending.ends = body.id;
  pending.is_finish = true;
  const cl_int error =
      body.connection->ask({.queue = body.id}, pending, [](auto& b) { return wire::CreateFinishQueue(b); });
  return error != CL_SUCCESS ? error : body.failure.exchange(CL_SUCCESS);
}

}  // namespace cleave::remote::client
