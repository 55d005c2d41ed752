// How to create a queue like one of the program's.
#pragma once

#include "base/opencl.h"

namespace cleave::interpose {

// Of cl_khr_priority_hints and cl_khr_throttle_hints (CL/cl_ext.h names them only in some versions).
inline constexpr cl_queue_properties kPriority = 0x1096;
inline constexpr cl_queue_properties kThrottle = 0x1097;
inline constexpr cl_queue_properties kLowPriority = 1U << 2;

struct QueueTemplate {
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  bool profiling = false;
  // Created by clCreateCommandQueueWithProperties, which OpenCL 1.x does not have.
  bool with_properties = false;
  // CL_QUEUE_PRIORITY_KHR and CL_QUEUE_THROTTLE_KHR; 0 if not given.
  cl_queue_properties priority = 0;
  cl_queue_properties throttle = 0;

  bool operator==(const QueueTemplate&) const = default;
};

}  // namespace cleave::interpose
