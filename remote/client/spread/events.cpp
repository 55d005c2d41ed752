// User events: each is on one server, and gates stand for it on the others.
#include "remote/client/events.h"

#include "remote/client/spread/api.h"
#include "remote/client/spread/bodies.h"
#include "remote/client/spread/ordering.h"

namespace cleave::remote::client::spread {

cl_event CL_API_CALL clCreateUserEvent(cl_context handle, cl_int* error_ret) {
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  std::size_t part = 0;
  while (part + 1 < of.parts.size() && !connection_of(of, part).alive()) ++part;
  const cl_event event = client::clCreateUserEvent(of.parts[part], error_ret);
  if (event == nullptr || client.objects.also_hold(*find(event), context)) return event;
  client::clReleaseEvent(event);
  return fail<cl_event>(error_ret, CL_OUT_OF_HOST_MEMORY);
}

// What waited for it can be decided on now, also if its own server has gone meanwhile.
cl_int CL_API_CALL clSetUserEventStatus(cl_event handle, cl_int status) {
  Object& event = *find(handle);
  const Held held(event);
  const cl_int error = client::clSetUserEventStatus(handle, status);
  if (error != CL_SUCCESS && error != kGone) return error;
  Object* const context = known_context(body_of<EventBody>(event).context);
  const WholeContext& of = context_of(*context);
  bool any_alive = false;  // in a child of the process that made them none is
  for (std::size_t part = 0; part < of.parts.size(); ++part)
    any_alive = any_alive || connection_of(of, part).alive();
  if (any_alive) of.ordering->reconsider();
  return any_alive ? CL_SUCCESS : error;
}

}  // namespace cleave::remote::client::spread
