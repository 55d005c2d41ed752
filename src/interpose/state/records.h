// The records of the driver's objects.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/opencl.h"
#include "base/text/hash.h"
#include "interpose/state/held_handles.h"
#include "interpose/state/queue_template.h"
#include "interpose/state/record_map.h"
#include "kernels/facts/program_scan.h"
#include "launch/pipeline.h"
#include "observe/counters.h"
#include "plan/decide.h"
#include "plan/local_size.h"

namespace cleave::interpose {

// Why the latest build of a program does not have the prelude enabled.
enum class NoPrelude : std::uint8_t {
  unneeded,    // no kernel would use it; or it is enabled
  source,      // the source does not allow for it
  text,        // the text cannot have it in front
  remote,      // the device is a server's
  driver,      // the driver does not pass tags on, or cannot try a build
  concurrent,  // another build of the program was in progress
  build,       // the program does not build with it, or shows it
  linked,      // a program that it is linked from does not have it
  il,          // there is no source to put it in front of
};

// What is known of one program.
struct ProgramRecord {
  std::shared_ptr<const std::string> source;  // the whole text; null for linked and remote programs and IL
  std::uint64_t source_hash = 0;              // of it: some programs create their kernels for each launch
  std::shared_ptr<const kernels::ProgramScan> scan;  // of all builds so far; null before the first
  bool instrumented = false;                         // the driver's text begins with the prelude
  bool trusted = false;                              // an unknown binary that the user trusts
  bool may_have_prelude = false;                     // some of its code may contain the prelude; never reset
  std::vector<cl_device_id> tagged;                  // the devices whose latest build has the prelude enabled
  NoPrelude no_prelude = NoPrelude::unneeded;        // for the other devices
  std::uint64_t origin = 0;  // of a binary: identity of the source and options of its build; 0: unknown
  unsigned builds = 0;       // started so far
  unsigned builds_in_flight = 0;
  // Options of the latest clBuildProgram with the prelude, if nothing was built since.
  std::optional<std::string> options;
  // Kernels that this build lacks and would lack without the prelude; "" stands for all of them.
  std::set<std::string> missing_kernels;

  void set_source(std::string text) {
    source_hash = base::hash_of(text);
    source = std::make_shared<const std::string>(std::move(text));
  }
};

// Small, since each launch copies it.
struct KernelRecord {
  plan::Kernel facts;
  observe::KernelCounters* counters = nullptr;  // not null in a registered record; never freed
  // The device whose driver has accepted a launch of this kernel that ends in smaller work-groups, and so will again.
  cl_device_id uneven_accepted = nullptr;
  // The devices for which all of its code has the prelude. Null: none.
  std::shared_ptr<const std::vector<cl_device_id>> tagged;
  bool trusted = false;                // from a binary that, as the user says, contains the prelude
  bool may_have_prelude = false;       // some of its code may contain the prelude, for any device
  bool has_program_variables = false;  // its program may have variables that outlive a launch
  std::uint64_t identity = 0;          // hash under which its costs are kept; 0: they are not measured
};

static_assert(sizeof(KernelRecord) <= 80, "each launch copies it");

// clGetKernelSuggestedLocalWorkSizeKHR of cl_khr_suggested_local_work_size.
using SuggestLocalSize = cl_int(CL_API_CALL*)(cl_command_queue, cl_kernel, cl_uint dims, const size_t* offset,
                                              const size_t* global, size_t* suggested);

struct QueueRecord {
  cl_device_id device = nullptr;
  SuggestLocalSize suggest_local_size = nullptr;                       // null if the driver does not have it
  plan::OpenLocalSize open_local_size = plan::OpenLocalSize::unknown;  // its choice without that function
  bool in_order = true;
  bool profiling = false;  // enabled by the program
  // False for queues with vendor-specific properties, whose effect on a launch is unknown, and for drivers that do not
  // run slices correctly.
  bool plain = true;
  // The driver crashes if a launch fails after its event was released. Slices fail like that when a user event that
  // they wait for is set to an error.
  bool crashes_on_late_failure = false;
  bool needs_serial_calls = false;
  // The driver crashes, or runs commands that it must not, if several slices fail.
  bool crashes_on_shared_failure = false;
  // The driver gives launches with an offset separate copies of program-scope variables.
  bool copies_variables = false;
  // The driver crashes if launches with and without an offset are in flight; then `plain` is false, too.
  bool crashes_on_mixed_offsets = false;
  // The same, but only on several queues.
  bool crashes_on_several_mixed_offsets = false;
  bool remote = false;        // the device belongs to a server
  bool low_priority = false;  // as the program has made it (cl_khr_priority_hints)
  plan::Device facts;
  // Consecutive launches whose pacing was given up: they depend on the program, so pacing only costs time.
  unsigned pacing_stalls = 0;
  // The properties of helper queues for it; empty if none can be created.
  std::optional<QueueTemplate> queue_template;
  bool has_helpers = false;    // it has used helper queues
  std::uint64_t identity = 0;  // hash of device and driver under which costs are kept; 0: none are
};

static_assert(sizeof(QueueRecord) <= 160,
              "each launch copies it, unless it stays whole for its kernel or alone");

// The event of a split launch is the last slice's. `first_slices` are the events of the slices with which the launch
// may have begun: the first slice's and, in a pipelined launch, the first one's on each helper; then nulls. The
// references are ours.
struct SplitEventRecord {
  std::array<cl_event, launch::kMaxHelpers + 1> first_slices{};
};

// A user event whose status has not been set. `number` is unique.
struct PendingUserEvent {
  std::uint64_t number = 0;
};

// The records of all objects of the program.
struct ObjectRecords {
  explicit ObjectRecords(base::ForkLocks& forks)
      : contexts(forks, base::ForkOrder::contexts),
        sub_devices(forks, base::ForkOrder::sub_devices),
        programs(forks, base::ForkOrder::programs),
        kernels(forks, base::ForkOrder::kernels, &changes),
        queues(forks, base::ForkOrder::queues, &changes),
        split_events(forks, base::ForkOrder::split_events),
        pending_user_events(forks, base::ForkOrder::user_events) {}

  // Counts kernels and queues that come or go, or whose properties the program changes: what was decided before may be decided
  // otherwise.
  std::atomic<std::uint64_t> changes{0};
  RecordMap<HeldRecord> contexts;
  RecordMap<HeldRecord> sub_devices;
  RecordMap<ProgramRecord> programs;
  RecordMap<KernelRecord> kernels;
  RecordMap<QueueRecord> queues;
  RecordMap<SplitEventRecord> split_events;
  RecordMap<PendingUserEvent> pending_user_events;
  std::atomic<std::uint64_t> user_events_created{0};
  // A user event has been set to an error: commands that wait for it fail, even if the driver does not report it.
  std::atomic<bool> has_failed_user_event{false};
};

}  // namespace cleave::interpose
