// The capabilities of a device as the program sees them: those that its server reports, without what cannot be forwarded.
#pragma once

#include "remote/client/objects/object_state.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// Fills in what the server reports of a device. Called before the program has the handle.
void fill_device(DeviceState& state, const wire::Device& device, const wire::Welcome& welcome);

}  // namespace cleave::remote::client
