// What kind of driver is simulated. The defaults are a plain GPU driver.
#pragma once

#include <CL/cl_icd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace cleave::sim {

struct Options {
  // The platform and its devices, which are all alike.
  unsigned devices = 1;
  std::string platform_name = "Cleave simulated platform";
  std::string platform_vendor = "Cleave";
  std::string platform_version = "OpenCL 3.0 sim";  // devices report the same
  std::string icd_suffix = "SIM";
  // cl_khr_icd 2 and nothing else: objects point to a table that has the two tags and no function.
  bool icd_v2_only = false;
  std::string device_name = "Simulated device";  // more than one are numbered: "Simulated device 2"
  std::string device_vendor = "Cleave";
  std::string driver_version = "1.0";
  std::string extensions = "cl_khr_icd cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics";
  cl_device_type device_type = CL_DEVICE_TYPE_GPU;
  cl_uint compute_units = 16;
  cl_uint address_bits = 64;  // 32 or 64: bounds global ids, CL_INVALID_GLOBAL_OFFSET beyond
  std::size_t max_work_group_size = 1024;
  std::array<std::size_t, 3> max_work_item_sizes{1024, 1024, 64};
  std::size_t preferred_multiple = 32;
  cl_ulong memory_size = cl_ulong{1} << 30;
  cl_ulong local_memory_size = 48 * 1024;
  bool non_uniform = true;  // a last work-group may be smaller, unless built with -cl-uniform-work-group-size
  bool out_of_order = true;  // host queues may be out of order
  bool queue_hints =
      false;  // queues may have a priority and a throttle (cl_khr_priority_hints and the other)
  bool context_counts_queues = false;  // a context's reference count has its queues in it, as PoCL's has
  bool images = true;
  // clGetKernelSuggestedLocalWorkSizeKHR and its extension string are there.
  bool suggested_local_size = true;
  // A NULL local size is an error for a kernel with reqd_work_group_size, as up to OpenCL 2.x. Otherwise the
  // required size is used.
  bool required_size_refuses_null = true;
  // A global size of zero, or none, is a launch that does nothing, as OpenCL 2.1 and later allow. Otherwise
  // an error.
  bool zero_global_size = false;
  // Bits of a global work offset that reach the kernel, sign-extended; 64 keeps all. Some drivers keep 32.
  unsigned offset_bits = 64;

  // Time, all of it virtual. A launch lasts per_launch + items * per_item (or what Driver::cost says).
  base::Nanoseconds per_launch{10'000};
  base::Nanoseconds per_item{1};
  base::Nanoseconds per_transfer{1'000};  // reads, writes, copies, fills, maps
  base::Nanoseconds enqueue_cost{1'000};  // host time that passes in each clEnqueue...
  base::Nanoseconds sleep_lateness{0};    // by which each sleep of ours is longer than requested
  base::Nanoseconds poll_cost{0};     // in each clGetEventInfo; set it if a program polls without sleeping
  base::Nanoseconds submit_delay{0};  // from flushed to CL_SUBMITTED
  unsigned concurrent_commands = 1;   // how many commands a device runs at once
  // Waits take processor time, all threads' on one account.
  bool waits_use_cpu = false;
  // What did not run because of its wait list does not keep from running what waits for it.
  bool ignores_wait_list_failures = false;
  // Commands stay CL_QUEUED until clFlush, clFinish or a wait on their own queue.
  bool lazy_flush = false;

  // How long, in real time, a wait that nothing can end waits for another thread to end it.
  std::chrono::milliseconds hang_timeout{5'000};

  std::string fail_build;  // a source or build options that contain this text do not build
  bool quiet = false;      // keep no log, launches or executions; counts are kept
};

}  // namespace cleave::sim
