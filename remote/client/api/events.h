// Events: what a command's end, or the program, makes of them, and who is called then.
#pragma once

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client {

// Gives the event a newer status and calls whom it may concern. Any thread.
void set_status(Object& event, cl_int status);

// Whether there will be nothing newer.
inline bool is_over(const EventState& event) {
  return event.status.load(std::memory_order_acquire) <= CL_COMPLETE;
}

// Calls function(event, status, user_data) by the relays' thread when the event has ended.
void notify_end(Object& event, EventState::Notify function, void* user_data);

// A user event. Of those that the program sets there may be any at any time that it sets late; ours are set
// by what others do.
enum class SetBy : bool { us, program };
cl_event make_user_event(Object& context, SetBy by, cl_int* error_ret);

// A new event below `queue`, with one reference of the program's; null if there is no memory.
Object* make_event(Object& queue, cl_command_type command);

}  // namespace cleave::remote::client
