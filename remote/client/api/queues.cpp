#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/link/connection.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

// `list`: null for clCreateCommandQueue.
cl_command_queue create(cl_context context_handle, cl_device_id device_handle,
                        cl_command_queue_properties bits, const std::vector<cl_queue_properties>* list,
                        cl_int* error_ret) {
  Object* const context = find(context_handle);
  if (context == nullptr) return fail<cl_command_queue>(error_ret, CL_INVALID_CONTEXT);
  Object* const device = find(device_handle);
  const ContextState& of = state_of<ContextState>(*context);
  if (device == nullptr || std::find(of.devices.begin(), of.devices.end(), device) == of.devices.end())
    return fail<cl_command_queue>(error_ret, CL_INVALID_DEVICE);
  Connection& connection = *of.connection;
  NewObject<QueueState> made(*context, connection, connection.new_id());
  if (!made) return fail<cl_command_queue>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->device = device;
  made->properties = bits;
  if (list != nullptr) made->list = *list;
  const cl_command_queue queue = made.create(error_ret, [&](auto& b) {
    const auto properties = list != nullptr ? wire_list(b, *list) : b.CreateVector(&bits, 1);
    return wire::CreateCreateQueue(b, made->id, of.id, state_of<DeviceState>(*device).id, properties,
                                   list == nullptr);
  });
  if (queue != nullptr) connection.subscribe(object_of(queue));
  return queue;
}

// The server answers with the queue's id, or zero.
cl_int default_device_queue(const QueueState& state, const InfoOutput& output) {
  std::vector<std::byte> bytes;
  const cl_int error =
      query_server(*state.connection, {wire::InfoSubject::queue, state.id, CL_QUEUE_DEVICE_DEFAULT}, bytes);
  if (error != CL_SUCCESS) return error;
  Id id = 0;
  if (bytes.size() == sizeof id) std::memcpy(&id, bytes.data(), sizeof id);
  Object* queue = id == 0 ? nullptr : state.connection->subscriber(id);
  if (queue != nullptr && queue->kind != Kind::queue) queue = nullptr;
  return output.write(objects::handle_of<cl_command_queue>(queue));
}

}  // namespace

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties, cl_int* error_ret) {
  return create(context, device, properties, nullptr, error_ret);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* error_ret) {
  const std::vector<cl_queue_properties> list = property_list(properties);
  cl_command_queue_properties bits = 0;
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i] == CL_QUEUE_PROPERTIES) bits = list[i + 1];
  }
  return create(context, device, bits, &list, error_ret);
}

cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties properties,
                                             cl_bool enable, cl_command_queue_properties* old) {
  QueueState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_COMMAND_QUEUE;
  PendingRequest pending;
  const cl_int error = state->connection->call({}, pending, [&](auto& b) {
    return wire::CreateSetQueueProperty(b, state->id, properties, enable != CL_FALSE);
  });
  if (error != CL_SUCCESS) return error;
  if (old != nullptr) *old = pending.value;
  const cl_command_queue_properties before = state->properties.load();
  state->properties = enable != CL_FALSE ? before | properties : before & ~properties;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info name, size_t size,
                                         void* value, size_t* size_ret) {
  const QueueState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_COMMAND_QUEUE;
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_QUEUE_CONTEXT:
      return output.write(objects::handle_of<cl_context>(program_context(state->context)));
    case CL_QUEUE_DEVICE:
      return output.write(objects::handle_of<cl_device_id>(state->device));
    case CL_QUEUE_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_QUEUE_PROPERTIES:
      return output.write(state->properties.load());
    case CL_QUEUE_DEVICE_DEFAULT:
      return default_device_queue(*state, output);
    case CL_QUEUE_PROPERTIES_ARRAY:
      return output.write_list(state->list);
    default:
      return query_into(*state->connection, {wire::InfoSubject::queue, state->id, name}, output);
  }
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context_handle, cl_device_id device_handle,
                                                  cl_command_queue queue_handle) {
  const ContextState* const of = find_state(context_handle);
  if (of == nullptr) return CL_INVALID_CONTEXT;
  Object* const device = find(device_handle);
  if (device == nullptr) return CL_INVALID_DEVICE;
  // A null queue is passed on: the driver decides what it means.
  Object* const queue = find(queue_handle);
  if (queue == nullptr && queue_handle != nullptr) return CL_INVALID_COMMAND_QUEUE;
  if (queue != nullptr && state_of<QueueState>(*queue).connection != of->connection)
    return CL_INVALID_COMMAND_QUEUE;
  return of->connection->call({}, [&](auto& b) {
    return wire::CreateSetDefaultDeviceQueue(b, of->id, state_of<DeviceState>(*device).id,
                                             queue == nullptr ? 0 : state_of<QueueState>(*queue).id);
  });
}

cl_int CL_API_CALL clFlush(cl_command_queue handle) {
  const QueueState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_COMMAND_QUEUE;
  const cl_int error =
      state->connection->post({.queue = state->id}, [](auto& b) { return wire::CreateFlushQueue(b); });
  state->connection->flush();
  return error;
}

cl_int CL_API_CALL clFinish(cl_command_queue handle) {
  QueueState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_COMMAND_QUEUE;
  PendingRequest pending;
  pending.ends_queue = state->id;
  pending.is_finish = true;
  const cl_int error = state->connection->call({.queue = state->id}, pending,
                                               [](auto& b) { return wire::CreateFinishQueue(b); });
  return error != CL_SUCCESS ? error : state->failure.exchange(CL_SUCCESS);
}

}  // namespace cleave::remote::client
