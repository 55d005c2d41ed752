// Contexts: creation, queries, destructor callbacks.
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace context_functions {

using Notify = void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*);

std::vector<cl_context_properties> checked_properties(CallFrame& frame,
                                                      const cl_context_properties* properties) {
  auto list = property_list(properties);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i] == CL_CONTEXT_PLATFORM) {
      frame.state.get(reinterpret_cast<cl_platform_id>(list[i + 1]));
    } else {
      require(list[i] == CL_CONTEXT_INTEROP_USER_SYNC, CL_INVALID_PROPERTY);
    }
  }
  return list;
}

cl_context create(CallFrame& frame, const cl_context_properties* properties, cl_uint count,
                  const cl_device_id* devices, Notify notify, void* user_data) {
  auto list = checked_properties(frame, properties);
  require(count > 0 && devices != nullptr, CL_INVALID_VALUE);
  require(notify != nullptr || user_data == nullptr, CL_INVALID_VALUE);
  std::vector<std::shared_ptr<Device>> found;
  for (cl_uint i = 0; i < count; ++i) found.push_back(shared(frame.state.get(devices[i])));
  auto context = frame.state.make<Context>();
  context->devices = std::move(found);
  context->properties = std::move(list);
  return handle_of(context);
}

cl_context create_from_type(CallFrame& frame, const cl_context_properties* properties, cl_device_type type,
                            Notify notify, void* user_data) {
  constexpr cl_device_type known = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR |
                                   CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CUSTOM;
  require(type == CL_DEVICE_TYPE_ALL || (type != 0 && (type & ~known) == 0), CL_INVALID_DEVICE_TYPE);
  require((type & (frame.state.options.device_type | CL_DEVICE_TYPE_DEFAULT)) != 0, CL_DEVICE_NOT_FOUND);
  std::vector<cl_device_id> devices;
  for (const auto& device : frame.state.devices) devices.push_back(handle_of(device));
  return create(frame, properties, static_cast<cl_uint>(devices.size()), devices.data(), notify, user_data);
}

constexpr InfoRow<Context> context_rows[] = {
    {CL_CONTEXT_REFERENCE_COUNT,
     [](const Context& context) {
       return context.references() + (context.state.options.context_counts_queues ? context.queues : 0);
     }},
    {CL_CONTEXT_NUM_DEVICES,
     [](const Context& context) { return static_cast<cl_uint>(context.devices.size()); }},
    {CL_CONTEXT_PROPERTIES, [](const Context& context) { return context.properties; }},
    {CL_CONTEXT_DEVICES, [](const Context& context) { return handles_of(context.devices); }},
};

void set_destructor_callback(CallFrame& frame, cl_context handle,
                             void(CL_CALLBACK* notify)(cl_context, void*), void* user_data) {
  Context& context = frame.state.get(handle);
  require(notify != nullptr, CL_INVALID_VALUE);
  context.on_destruction.emplace_back([=] { notify(handle, user_data); });
}

}  // namespace context_functions

void context_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateContext, create);
  SIM_IMPLEMENT(clCreateContextFromType, create_from_type);
  SIM_IMPLEMENT(clRetainContext, retain<Context>);
  SIM_IMPLEMENT(clReleaseContext, release<Context>);
  SIM_IMPLEMENT(clGetContextInfo, answer_from<Context, context_rows>);
  SIM_IMPLEMENT(clSetContextDestructorCallback, set_destructor_callback);
}

}  // namespace cleave::sim
