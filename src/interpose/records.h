// What is remembered of each kind of object.
#pragma once

#include <memory>
#include <string>

#include "base/opencl.h"
#include "kernels/program_scan.h"
#include "observe/counters.h"
#include "plan/decide.h"

namespace cleave::interpose {

// Only programs whose whole text Cleave has seen have a record.
struct ProgramRecord {
  std::shared_ptr<const kernels::ProgramScan> text;  // null for linked programs
  // Of all options it was built with so far (what was once in doubt stays so), and of linked programs'
  // inputs.
  kernels::Scan rest;

  [[nodiscard]] kernels::Scan of(const std::string& kernel) const {
    return text ? kernels::both(text->of(kernel), rest) : rest;
  }
  [[nodiscard]] kernels::Scan whole() const { return text ? kernels::both(text->whole(), rest) : rest; }
};

struct KernelRecord {
  plan::Kernel facts;
  observe::KernelCounters* counters = nullptr;  // never null in a registered record; lives for ever
  // The driver has accepted a launch of this kernel on this device that ends in smaller work-groups, so it
  // will again.
  cl_device_id uneven_accepted = nullptr;
};

// clGetKernelSuggestedLocalWorkSizeKHR of cl_khr_suggested_local_work_size.
using SuggestLocalSize = cl_int(CL_API_CALL*)(cl_command_queue, cl_kernel, cl_uint dims, const size_t* offset,
                                              const size_t* global, size_t* suggested);

struct QueueRecord {
  cl_device_id device = nullptr;
  SuggestLocalSize suggest = nullptr;  // null where the driver does not have it
  bool in_order = true;
  bool plain = true;  // no property that a vendor has added: what a launch means there is not ours to know
  plan::Device facts;
};

// An event that stands for a split launch: it is the last slice's. `first`, the first slice's, is ours to
// release.
struct EventRecord {
  cl_event first = nullptr;
};

// A user event whose status has not been set.
struct PendingRecord {};

}  // namespace cleave::interpose
