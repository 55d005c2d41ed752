// An OpenCL library for a server (--opencl) whose driver runs a queue out of order as one in order, which
// some drivers do: nothing overtakes a command that waits. All else is the OpenCL loader's, which this one
// needs.
#include <CL/cl.h>

#include <dlfcn.h>
#include <vector>

namespace {

template <typename Function>
Function* next(Function* /*like*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The server is to find these before the loader's.
#pragma GCC visibility push(default)

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                               cl_command_queue_properties properties,
                                                               cl_int* error_ret) {
  static const auto create = next(&clCreateCommandQueue, "clCreateCommandQueue");
  return create(context, device, properties & ~CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, error_ret);
}

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties* properties, cl_int* error_ret) {
  static const auto create = next(&clCreateCommandQueueWithProperties, "clCreateCommandQueueWithProperties");
  std::vector<cl_queue_properties> list;
  for (const cl_queue_properties* pair = properties; pair != nullptr && *pair != 0; pair += 2) {
    const bool is_order = pair[0] == CL_QUEUE_PROPERTIES;
    list.push_back(pair[0]);
    list.push_back(is_order ? pair[1] & ~CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : pair[1]);
  }
  list.push_back(0);
  return create(context, device, properties == nullptr ? nullptr : list.data(), error_ret);
}
