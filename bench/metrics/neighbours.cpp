// What needs a second process: the neighbour of IS-006 and IS-009, and the memory of IS-005.
#include <poll.h>
#include <unistd.h>

#include "bench/metrics/metrics.h"
#include "tests/kit/timing.h"

namespace metrics {

Values keep_launching(Device& device) {
  Values ends;
  for (pollfd input{STDIN_FILENO, POLLIN, 0}; poll(&input, 1, 0) == 0;) {
    device.launch_steady(device.units() * 4, 1000);
    device.finish();
    ends.push_back(kit::now());
  }
  return ends;
}

Secret::Secret(Device& device, cl_ulong word)
    : device_(device), memory_(cl.clSVMAlloc(device.context(), CL_MEM_READ_WRITE, sizeof word, 0)) {
  if (memory_ == nullptr) throw std::runtime_error("no shared virtual memory");
  cl.check("clEnqueueSVMMemcpy",
           cl.clEnqueueSVMMemcpy(device.queue(), CL_TRUE, memory_, &word, sizeof word, 0, nullptr, nullptr));
}

Secret::~Secret() { cl.clSVMFree(device_.context(), memory_); }

bool can_read(Device& device, void* address, cl_ulong word) {
  cl_ulong found = 0;
  return cl.clEnqueueSVMMemcpy(device.queue(), CL_TRUE, &found, address, sizeof found, 0, nullptr, nullptr) ==
             CL_SUCCESS &&
         found == word;
}

}  // namespace metrics
