// What a client gets instead of a description of the devices.
//
// Thread-safe: a plain function of its arguments. Nothing throws but for want of memory.
#pragma once

#include <string>

#include "remote/protocol/messages.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

void send_refusal(Stream& stream, wire::Refusal reason, const std::string& text);

}  // namespace cleave::remote::server
