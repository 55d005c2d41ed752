// What a device can do, as the program is told: what its server says, without what cannot be forwarded over a connection.
#pragma once

#include "remote/client/objects/object_state.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// Fills in what the server says of a device. Before the program has its handle.
void fill_device(DeviceState& state, const wire::Device& device, const wire::Welcome& welcome);

}  // namespace cleave::remote::client
