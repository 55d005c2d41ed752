// Creating events, and what happens at their end.
//
// Thread-safe.
#pragma once

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client {

// Calls function(event, status, user_data) on client.internal_callbacks when the event has ended.
void notify_end(Object& event, EventState::Notify function, void* user_data);

// Creates a user event. The program may set its own at any time, however late, so they are counted
// (Connection::count_user_event); ours are set when other commands end.
enum class SetBy : bool { us, program };
cl_event make_user_event(Object& context, SetBy by, cl_int* error_ret);

// Creates the event of a command in `queue`, with one reference of the program's. Null if there is no memory.
Object* make_event(Object& queue, cl_command_type command);

}  // namespace cleave::remote::client
