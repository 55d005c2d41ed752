// What is remembered of each kind of object.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/opencl.h"
#include "interpose/queues/helper_queues.h"
#include "kernels/program_scan.h"
#include "observe/counters.h"
#include "plan/decide.h"

namespace cleave::interpose {

// A program of which something is known.
struct ProgramRecord {
  std::shared_ptr<const std::string> source;         // its whole text; null for linked programs and IL
  std::shared_ptr<const kernels::ProgramScan> scan;  // of all its builds so far; null before the first
  bool instrumented = false;                         // in the driver, the prelude stands in front of its text
  bool trusted = false;                              // a binary that the user trusts
  bool may_have_prelude = false;     // some of its code may have the prelude in it, once and for all
  std::vector<cl_device_id> tagged;  // for these it was last built with the prelude switched on
  unsigned builds = 0;               // begun so far
  unsigned builds_in_flight = 0;     // begun and not ended
  // Options of the last clBuildProgram with the prelude, if that was the last thing done to it.
  std::optional<std::string> options;
  // Kernels that this build does not have, and would not have without the prelude; "" is "all of them".
  std::set<std::string> missing_kernels;
};

struct KernelRecord {
  plan::Kernel facts;
  observe::KernelCounters* counters = nullptr;  // never null in a registered record; lives for ever
  // The driver has accepted a launch of this kernel on this device that ends in smaller work-groups, so it
  // will again.
  cl_device_id uneven_accepted = nullptr;
  // The devices for which all of it has the prelude. Null: none.
  std::shared_ptr<const std::vector<cl_device_id>> tagged;
  bool trusted = false;           // it comes from a binary of which the user says that it has the prelude
  bool may_have_prelude = false;  // some of it may have the prelude, for any device
  bool keeps = false;             // its program may have variables of its own that outlive a launch
  // What it goes by among what was learnt, and its name; 0 and null where nothing is to be learnt.
  std::uint64_t identity = 0;
  std::shared_ptr<const std::string> name;
};

// clGetKernelSuggestedLocalWorkSizeKHR of cl_khr_suggested_local_work_size.
using SuggestLocalSize = cl_int(CL_API_CALL*)(cl_command_queue, cl_kernel, cl_uint dims, const size_t* offset,
                                              const size_t* global, size_t* suggested);

struct QueueRecord {
  cl_device_id device = nullptr;
  SuggestLocalSize suggest_local_size = nullptr;  // null where the driver does not have it
  bool in_order = true;
  bool profiling = false;  // the program has switched it on
  // No property that a vendor has added (what a launch means there is not ours to know), and no driver that
  // is known to be wrong about slices.
  bool plain = true;
  // The driver ends the process if a launch fails whose event nobody holds, as slices do once a user event
  // that they wait for is set to an error.
  bool failures_abort = false;
  // The driver is not up to slices that fail.
  bool failures_multiply = false;
  // The driver gives launches with an offset other copies of a program's own variables.
  bool copies_variables = false;
  // The driver ends the process where launches with and without an offset are in flight on several queues.
  bool offsets_race = false;
  bool remote = false;  // the device is a server's
  plan::Device facts;
  // Launches in a row whose pacing was given up: the program waits for itself there, so pacing only costs
  // time.
  unsigned pacing_stalls = 0;
  // What a helper beside it is made like; empty where no queue could be made that is like it.
  std::optional<QueueTemplate> queue_template;
  bool has_helpers = false;    // it has been to Interposer::helpers
  std::uint64_t identity = 0;  // what device and driver go by among what was learnt; 0: nothing is
};

// An event that stands for a split launch: it is the last slice's. `first_slices` are those of the slices with
// which it may have begun, the first slice's and, in a pipelined launch, the first one's on each helper; then
// nulls. They are ours to release.
struct SplitEventRecord {
  std::array<cl_event, launch::kMaxHelpers + 1> first_slices{};
};

// A user event whose status has not been set. The number is no other user event's.
struct PendingUserEvent {
  std::uint64_t number = 0;
};

}  // namespace cleave::interpose
