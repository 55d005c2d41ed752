// The handlers of a client's messages, one for each member of the union Body (messages.fbs). A handler checks what the
// client sent, calls the driver, and answers; it never waits for the device.
#pragma once

#include "remote/server/session/context.h"

namespace cleave::remote::server {

#define CLEAVE_MESSAGE(name) \
  void handle(SessionContext& session, const wire::Command& command, const wire::name& message);
#include "remote/server/session/messages.def"
#undef CLEAVE_MESSAGE

}  // namespace cleave::remote::server
