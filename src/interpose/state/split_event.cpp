#include "interpose/state/split_event.h"

#include <algorithm>

namespace cleave::interpose {

cl_int furthest(const Table& next, const SplitEventRecord& record) {
  cl_int status = CL_QUEUED;
  for (const cl_event first : record.first_slices) {
    cl_int own = CL_QUEUED;
    if (first != nullptr && next.clGetEventInfo(first, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof own, &own,
                                                nullptr) == CL_SUCCESS)
      status = std::min(status, own);
  }
  return status;
}

cl_ulong earliest(const Table& next, const SplitEventRecord& record, cl_profiling_info name,
                  cl_ulong fallback) {
  cl_ulong time = fallback;
  for (const cl_event first : record.first_slices) {
    cl_ulong own = 0;
    if (first != nullptr &&
        next.clGetEventProfilingInfo(first, name, sizeof own, &own, nullptr) == CL_SUCCESS)
      time = std::min(time, own);
  }
  return time;
}

}  // namespace cleave::interpose
