// What blocking calls share with clFinish and clWaitForEvents.
#pragma once

#include "interpose/interposer.h"

namespace cleave::interpose {

// For a call that is about to wait for everything on `queue` and then for its own command. If a launch on it is timed,
// waits for that first, provided that the program cannot tell.
void finish_timed_launch(Interposer& p, cl_command_queue queue) noexcept;

}  // namespace cleave::interpose
