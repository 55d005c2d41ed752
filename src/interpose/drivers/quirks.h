// What is known to go wrong with drivers, and was traced to them (docs/conformance.md says how). A driver
// that is not listed is trusted.
#pragma once

#include "interpose/calls/table.h"

namespace cleave::interpose {

struct Quirks {
  // Its clGetKernelSuggestedLocalWorkSizeKHR makes launches that run at that moment lose work-groups.
  bool suggest_corrupts_launches = false;
  // A program that could not be built once cannot be built later, with whatever options.
  bool failed_builds_stick = false;
  // A command that fails after its event was released ends the process.
  bool failures_abort = false;
  // It is not up to several commands that wait for what fails: it ends the process, or runs some of them.
  bool failures_multiply = false;
  // Launches of one kernel with and without an offset, in flight at a time, end the process.
  bool offsets_clash = false;
  // The same, but only where more than two are in flight, for which it has threads enough.
  bool offsets_race = false;
  // It has no variables of program scope, so it says, but compiles them, and launches with and without an
  // offset see different copies.
  bool copies_variables = false;
  // What the arguments of kernels are called, it tells where a program has no options, not even empty ones.
  bool default_has_argument_info = false;
  // Launches of one kernel on several queues at a time end the process, in some versions.
  bool queues_clash = false;
  // Not a driver's fault: its devices are a server's, which splits, builds and waits there.
  bool remote = false;
};

// Looks at the names and versions of the device's platform, every time. What the driver does not answer is
// taken as harmless.
Quirks quirks_of(const Table& next, cl_device_id device) noexcept;

}  // namespace cleave::interpose
