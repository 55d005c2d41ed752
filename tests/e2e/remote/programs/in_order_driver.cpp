// An OpenCL library for a server (--opencl) whose driver executes out-of-order queues in order, as some drivers do. All
// other functions are those of the OpenCL loader, which it depends on.
#include <CL/cl.h>

#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <vector>

namespace {

template <typename Function>
Function* next(Function* /*like*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Queues that report to be out of order, while they live and longer.
std::mutex mutex;
std::set<cl_command_queue> out_of_order_queues;

cl_command_queue note(cl_command_queue queue, cl_command_queue_properties properties) {
  const std::scoped_lock lock(mutex);
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    out_of_order_queues.insert(queue);
  } else {
    out_of_order_queues.erase(queue);
  }
  return queue;
}

bool is_out_of_order(cl_command_queue queue) {
  const std::scoped_lock lock(mutex);
  return out_of_order_queues.count(queue) != 0;
}

}  // namespace

// The server has to find these before the loader's.
#pragma GCC visibility push(default)

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                               cl_command_queue_properties properties,
                                                               cl_int* error_ret) {
  static const auto create = next(&clCreateCommandQueue, "clCreateCommandQueue");
  return note(create(context, device, properties & ~CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, error_ret),
              properties);
}

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties* properties, cl_int* error_ret) {
  static const auto create = next(&clCreateCommandQueueWithProperties, "clCreateCommandQueueWithProperties");
  std::vector<cl_queue_properties> list;
  cl_command_queue_properties wanted = 0;
  for (const cl_queue_properties* pair = properties; pair != nullptr && *pair != 0; pair += 2) {
    const bool is_order = pair[0] == CL_QUEUE_PROPERTIES;
    if (is_order) wanted = pair[1];
    list.push_back(pair[0]);
    list.push_back(is_order ? pair[1] & ~CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : pair[1]);
  }
  list.push_back(0);
  return note(create(context, device, properties == nullptr ? nullptr : list.data(), error_ret), wanted);
}

CL_API_ENTRY cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name,
                                                      size_t size, void* value, size_t* size_ret) {
  static const auto get = next(&clGetCommandQueueInfo, "clGetCommandQueueInfo");
  const cl_int error = get(queue, name, size, value, size_ret);
  if (error != CL_SUCCESS || name != CL_QUEUE_PROPERTIES || value == nullptr || !is_out_of_order(queue))
    return error;
  cl_command_queue_properties properties = 0;
  std::memcpy(&properties, value, sizeof properties);
  properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  std::memcpy(value, &properties, sizeof properties);
  return error;
}
