// The handlers of a client's messages, one for each member of the union Body (messages.fbs), as the column `message` of
// opencl/functions.def names them. A handler checks what the client sent, calls the driver, and answers; it never waits
// for the device. Those of messages that are only relayed are derived (derived_handlers.h).
#pragma once

#include "remote/server/session/session_context.h"

namespace cleave::remote::server {

#define CLEAVE_DECLARE(type) \
  void handle(SessionContext& session, const wire::Command& command, const wire::type& message);
#define CLEAVE_MESSAGE_none
#define CLEAVE_MESSAGE_relayed(message)
#define CLEAVE_MESSAGE_handled(first, ...) CLEAVE_DECLARE(first) __VA_OPT__(CLEAVE_SECOND(__VA_ARGS__))
#define CLEAVE_SECOND(second, ...) CLEAVE_DECLARE(second) __VA_OPT__(CLEAVE_DECLARE(__VA_ARGS__))
#define CL_FUNCTION(version, name, parameters, interposer, handles, remote, message) CLEAVE_MESSAGE_##message
#include "opencl/functions.def"
#undef CL_FUNCTION
#undef CLEAVE_SECOND
#undef CLEAVE_MESSAGE_handled
#undef CLEAVE_MESSAGE_relayed
#undef CLEAVE_MESSAGE_none
// No function's.
CLEAVE_DECLARE(Ping)
CLEAVE_DECLARE(OfferContents)
CLEAVE_DECLARE(FetchContents)
CLEAVE_DECLARE(KeepShared)
#undef CLEAVE_DECLARE

void dispatch(SessionContext& session, const wire::Command& command);

}  // namespace cleave::remote::server
