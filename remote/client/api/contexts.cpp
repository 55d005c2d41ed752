// Context functions.
#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

using ErrorNotify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

using Properties = std::vector<cl_context_properties>;

// What no driver is to see: a platform that is none.
cl_int check_platforms(const Properties& list) {
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): property lists hold handles as integers
    const auto platform = reinterpret_cast<cl_platform_id>(list[i + 1]);
    if (list[i] == CL_CONTEXT_PLATFORM && platform != nullptr && find(platform) == nullptr)
      return CL_INVALID_PLATFORM;
  }
  return CL_SUCCESS;
}

// As the message has them; `complete`: CreateContext.complete.
std::vector<std::int64_t> wire_values(const Properties& list, bool complete) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    const bool is_platform = list[i] == CL_CONTEXT_PLATFORM;
    if (is_platform && !complete) continue;
    values.insert(values.end(), {list[i], is_platform && list[i + 1] != 0 ? 1 : list[i + 1]});
  }
  return values;
}

struct ContextRequest {
  Properties properties;
  std::vector<Object*> devices;
  ErrorNotify notify = nullptr;
  void* user_data = nullptr;
};

// Returns false if a sub-device belongs to another connection, which must have ended.
bool fill(ContextState& state, const ContextRequest& request, Object& object, std::vector<Id>& ids) {
  state.devices = request.devices;
  state.properties = request.properties;
  state.notify = request.notify;
  state.user_data = request.user_data;
  state.max_allocation = UINT64_MAX;
  for (Object* const device : request.devices) {
    const DeviceState& of = state_of<DeviceState>(*device);
    if (of.connection_ref != nullptr && of.connection_ref != state.connection_ref) return false;
    ids.push_back(of.id);
    state.max_allocation = std::min(state.max_allocation, of.max_allocation);
    if (device != request.devices[0] && !device->root) client.objects.add_parent(object, *device);
  }
  return true;
}

cl_int create_on(Connection& connection, const ContextRequest& request, Object*& context) {
  NewObject<ContextState> made(*request.devices[0], connection, connection.new_id());
  if (!made) return CL_OUT_OF_HOST_MEMORY;
  made->connection_ref = connection.shared_from_this();
  std::vector<Id> ids;
  cl_int error = kConnectionLost;
  if (fill(*made, request, made.object(), ids)) {
    error = connection.call({}, [&](auto& b) {
      const bool complete = connection.supports(Feature::judgements);
      const auto properties =
          request.properties.empty() ? 0 : b.CreateVector(wire_values(request.properties, complete));
      return wire::CreateCreateContext(b, made->id, b.CreateVector(ids), properties,
                                       request.notify != nullptr, complete);
    });
  }
  if (error != CL_SUCCESS) return error;
  context = &made.publish();
  connection.subscribe(*context);
  return CL_SUCCESS;
}

cl_context create(const ContextRequest& request, cl_int* error_ret) {
  Object* made = nullptr;
  const cl_int error = call_device(state_of<DeviceState>(*request.devices[0]), [&](Connection& connection) {
    return create_on(connection, request, made);
  });
  if (error != CL_SUCCESS) return fail<cl_context>(error_ret, error);
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_context>(made);
}

}  // namespace

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* devices, ErrorNotify notify, void* user_data,
                                       cl_int* error_ret) {
  if (count == 0 || devices == nullptr || (notify == nullptr && user_data != nullptr))
    return fail<cl_context>(error_ret, CL_INVALID_VALUE);
  Properties taken = property_list(properties);
  const cl_int error = check_platforms(taken);
  if (error != CL_SUCCESS) return fail<cl_context>(error_ret, error);
  std::vector<Object*> list;
  for (cl_uint i = 0; i < count; ++i) {
    Object* const device = find(devices[i]);
    if (device == nullptr) return fail<cl_context>(error_ret, CL_INVALID_DEVICE);
    if (std::find(list.begin(), list.end(), device) != list.end()) continue;
    list.push_back(device);
    if (state_of<DeviceState>(*device).group != state_of<DeviceState>(*list[0]).group)
      return fail<cl_context>(error_ret, CL_INVALID_DEVICE);
  }
  return create({std::move(taken), std::move(list), notify, user_data}, error_ret);
}

cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                               ErrorNotify notify, void* user_data, cl_int* error_ret) {
  initialize();
  if (catalog.platform == nullptr) return fail<cl_context>(error_ret, CL_INVALID_PLATFORM);
  if (notify == nullptr && user_data != nullptr) return fail<cl_context>(error_ret, CL_INVALID_VALUE);
  Properties taken = property_list(properties);
  const cl_int error = check_platforms(taken);
  if (error != CL_SUCCESS) return fail<cl_context>(error_ret, error);
  std::vector<Object*> devices;
  const cl_int found = find_devices(type, devices);
  if (found != CL_SUCCESS) return fail<cl_context>(error_ret, found);
  const unsigned group = state_of<DeviceState>(*devices[0]).group;
  std::erase_if(devices, [&](const Object* device) { return state_of<DeviceState>(*device).group != group; });
  return create({std::move(taken), std::move(devices), notify, user_data}, error_ret);
}

cl_int CL_API_CALL clGetContextInfo(cl_context handle, cl_context_info name, size_t size, void* value,
                                    size_t* size_ret) {
  const ContextState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_CONTEXT;
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_CONTEXT_NUM_DEVICES:
      return output.write(static_cast<cl_uint>(state->devices.size()));
    case CL_CONTEXT_DEVICES:
      return output.write_list(state->devices);  // a handle is an object's address
    case CL_CONTEXT_PROPERTIES:
      return output.write_list(state->properties);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clSetContextDestructorCallback(cl_context handle,
                                                  void(CL_CALLBACK* function)(cl_context, void*),
                                                  void* user_data) {
  ContextState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_CONTEXT;
  if (function == nullptr) return CL_INVALID_VALUE;
  state->destructor_callbacks.add(function, user_data);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetSupportedImageFormats(cl_context handle, cl_mem_flags flags, cl_mem_object_type type,
                                              cl_uint entries, cl_image_format* formats, cl_uint* count) {
  ContextState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_CONTEXT;
  if (entries == 0 && formats != nullptr) return CL_INVALID_VALUE;
  const InfoCache::Key key{static_cast<cl_uint>(wire::InfoSubject::image_formats), type, 0, flags};
  if (state->infos.find(key) == nullptr) {
    std::array<std::uint8_t, sizeof flags> input{};
    std::memcpy(input.data(), &flags, sizeof flags);
    std::vector<std::byte> bytes;
    const cl_int error = query_server(
        *state->connection,
        {.what = wire::InfoSubject::image_formats, .object = state->id, .param = type, .input = input},
        bytes);
    if (error != CL_SUCCESS && !state->connection->alive()) return error;
    state->infos.put(key, {error, bytes});
  }
  const InfoCache::Info& info = *state->infos.find(key);
  if (info.error != CL_SUCCESS) return info.error;
  const std::size_t available = info.bytes.size() / sizeof(cl_image_format);
  if (count != nullptr) *count = static_cast<cl_uint>(available);
  if (formats != nullptr && available != 0) {
    std::memcpy(formats, info.bytes.data(),
                std::min<std::size_t>(entries, available) * sizeof(cl_image_format));
  }
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client
