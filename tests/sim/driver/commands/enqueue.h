// How the clEnqueue... functions put commands into queues.
#pragma once

#include <CL/cl_icd.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/sim/driver/commands/timeline.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/objects.h"

namespace cleave::sim {

struct CommandSpec {
  cl_command_type type;
  std::function<void()> effect;  // holds the objects that it uses
  std::function<Nanoseconds()> duration;
  bool occupies_device = true;  // of the device; markers take none
  Timeline::Placement placement{};
  std::shared_ptr<Launch> launch{};
  bool blocking = false;
};

// What a transfer is: it takes Options::per_transfer.
CommandSpec transfer(const DriverState& state, cl_command_type type, std::function<void()> effect,
                     cl_bool blocking = CL_FALSE);

// Checks the wait list, puts the command into the queue, gives the program its event and, if the command is
// blocking, waits for its end. A blocking command that fails gives no event.
void enqueue(CallFrame& frame, Queue& queue, CommandSpec spec, WaitListArguments wait_list);
void enqueue_transfer(CallFrame& frame, Queue& queue, cl_command_type type, std::function<void()> effect,
                      WaitListArguments wait_list, cl_bool blocking = CL_FALSE);

// Waits for the end of all `commands`, whose queues are flushed. Throws CL_OUT_OF_RESOURCES if that can never
// be.
void wait_for(CallFrame& frame, const std::vector<std::shared_ptr<Command>>& commands);

}  // namespace cleave::sim
