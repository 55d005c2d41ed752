// User events. Each is on one server; gates represent it on others.
#include "remote/client/api/events.h"

#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/command_order.h"
#include "remote/client/multi_server/composite.h"

namespace cleave::remote::client::multi_server {

cl_event CL_API_CALL clCreateUserEvent(cl_context handle, cl_int* error_ret) {
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  std::size_t shard = 0;
  while (shard + 1 < of.shards.size() && !connection_of(of, shard).alive()) ++shard;
  const cl_event event = client::clCreateUserEvent(of.shards[shard], error_ret);
  if (event == nullptr || client.objects.add_parent(object_of(event), context)) return event;
  client::clReleaseEvent(event);
  return fail<cl_event>(error_ret, CL_OUT_OF_HOST_MEMORY);
}

// Deferred commands behind it can be decided now, even if its own server was lost meanwhile.
cl_int CL_API_CALL clSetUserEventStatus(cl_event handle, cl_int status) {
  Object& event = object_of(handle);
  const HeldObject held(event);
  const cl_int error = client::clSetUserEventStatus(handle, status);
  if (error != CL_SUCCESS && error != kConnectionLost) return error;
  Object* const context = program_context(state_of<EventState>(event).context);
  const CompositeContext& of = context_of(*context);
  bool any_alive = false;  // false in a forked child, which has none of the connections
  for (std::size_t shard = 0; shard < of.shards.size(); ++shard)
    any_alive = any_alive || connection_of(of, shard).alive();
  if (any_alive) of.order->decide_pending();
  return any_alive ? CL_SUCCESS : error;
}

}  // namespace cleave::remote::client::multi_server
