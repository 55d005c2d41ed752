// Hands a launch that takes its turn slice by slice to the feeder (feeder.h), with a copy of everything that belongs to the
// program's call.
//
// Thread-safe. Does not throw.
#pragma once

#include <optional>

#include "interpose/interposer.h"
#include "interpose/launch/call.h"
#include "interpose/launch/launch_plan.h"
#include "interpose/turns/device_turn.h"

namespace cleave::interpose {

// As execute() in a turn of `device`, but the call returns when the first slice has been accepted. Empty, and then nothing has been
// done, if the call has to enqueue the launch itself: the program wants an event, which is the last slice's; on an
// out-of-order queue other commands need not wait for it; a traced call is traced on its own thread; the driver must not be
// called on two threads; a short launch is not worth it; or the feeder is not free. Requires: the process holds the device; `plan` is to split the launch.
std::optional<cl_int> feed(Interposer& p, DeviceTurn& device, const Call& call,
                           const LaunchPlan& plan) noexcept;

}  // namespace cleave::interpose
