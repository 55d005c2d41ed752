// Hands a launch to the driver as it was planned, whole or in slices, and gives the program what the driver would: its result and its
// event.
//
// Thread-safe as far as OpenCL's own functions are.
#pragma once

#include "interpose/interposer.h"
#include "interpose/launch/call.h"
#include "interpose/launch/launch_pacer.h"
#include "interpose/launch/launch_plan.h"
#include "plan/decide.h"

namespace cleave::interpose {

// As one launch, counted for this reason. Neither held back nor measured.
cl_int launch_unsplit(Interposer& p, const Call& call, observe::KernelCounters& counters,
                      plan::UnsplitReason why);

// By `pacer`. A launch that was to be split is made whole if another thread is enqueueing on the same in-order queue, or the driver
// refuses the first slice.
cl_int execute(Interposer& p, const Call& call, const LaunchPlan& plan, LaunchPacer& pacer);

}  // namespace cleave::interpose
