// How the clEnqueue... functions put commands into queues.
#pragma once

#include <CL/cl_icd.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/sim/driver/commands/timeline.h"
#include "tests/sim/driver/core/call_frame.h"
#include "tests/sim/driver/core/objects.h"

namespace cleave::sim {

// The last three arguments of each of these functions.
struct WaitListArguments {
  cl_uint count = 0;
  const cl_event* waits = nullptr;
  cl_event* event = nullptr;
};

struct CommandSpec {
  cl_command_type type;
  std::function<void()> effect;  // holds the objects that it uses
  std::function<Nanoseconds()> duration;
  bool occupies_device = true;  // of the device; markers take none
  Timeline::Placement placement{};
  std::shared_ptr<Launch> launch{};
  bool blocking = false;
};

// A transfer's job: lasts Options::per_transfer.
CommandSpec transfer(const DriverState& state, cl_command_type type, std::function<void()> effect,
                     bool blocking = false);

// Checks the wait list, puts the command into the queue, gives the program its event and, if the job is
// blocking, waits for its end. A blocking job that fails gives no event.
void enqueue(CallFrame& frame, Queue& queue, CommandSpec spec, WaitListArguments wait_list_arguments);

// Waits for the end of all `commands`, whose queues are flushed. Throws CL_OUT_OF_RESOURCES if that can never
// be.
void wait_for(CallFrame& frame, const std::vector<std::shared_ptr<Command>>& commands);

}  // namespace cleave::sim
