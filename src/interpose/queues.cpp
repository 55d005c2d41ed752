// Queues: their device's size and whether they keep order.

#include "interpose/facts.h"
#include "interpose/overrides.h"
#include "interpose/process.h"

namespace cleave::interpose {
namespace {

cl_command_queue noted(Process& p, cl_command_queue queue) noexcept {
  if (queue == nullptr) return queue;
  try {
    if (const auto record = ask_queue(p, queue)) {
      p.waits.of(queue).forget();
      p.queues.add(queue, *record);
      auto& entry = p.neighbours.entry();
      if (entry.has_registry()) entry.use(identity_of(p.next, record->device));
    }
  } catch (...) {  // out of memory: a queue without a record is asked at each launch
  }
  return queue;
}

}  // namespace

cl_command_queue CL_API_CALL create_command_queue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties,
                                                  cl_int* error) noexcept {
  Process& p = process();
  return noted(p, p.next.clCreateCommandQueue(context, device, properties, error));
}

cl_command_queue CL_API_CALL create_command_queue_with_properties(cl_context context, cl_device_id device,
                                                                  const cl_queue_properties* properties,
                                                                  cl_int* error) noexcept {
  Process& p = process();
  return noted(p, p.next.clCreateCommandQueueWithProperties(context, device, properties, error));
}

// The extension's function of the same purpose (cl_khr_create_command_queue). The program got it from us, so
// its platform has it; which platform that is, the device knows.
cl_command_queue CL_API_CALL create_command_queue_with_properties_khr(cl_context context, cl_device_id device,
                                                                      const cl_queue_properties* properties,
                                                                      cl_int* error) noexcept {
  using Create =
      cl_command_queue(CL_API_CALL*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  Process& p = process();
  cl_platform_id platform = nullptr;
  Create create = nullptr;
  if (p.next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr) == CL_SUCCESS) {
    create = reinterpret_cast<Create>(
        p.next.clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandQueueWithPropertiesKHR"));
  }
  if (create == nullptr) {
    if (error != nullptr) *error = CL_INVALID_DEVICE;
    return nullptr;
  }
  return noted(p, create(context, device, properties, error));
}

cl_int CL_API_CALL set_command_queue_property(cl_command_queue queue, cl_command_queue_properties properties,
                                              cl_bool enable, cl_command_queue_properties* old) noexcept {
  Process& p = process();
  const cl_int error = p.next.clSetCommandQueueProperty(queue, properties, enable, old);
  if (const auto record = ask_queue(p, queue)) {
    p.queues.update(queue, [&](QueueRecord& known) { known = *record; });
  }
  return error;
}

}  // namespace cleave::interpose
