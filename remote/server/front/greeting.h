// The first half of a handshake: reads the Hello and authenticates the client. The second half, which describes the devices
// to it, is the worker's (worker/welcome.h).
//
// Thread-safe: plain functions of their arguments. Nothing throws but for want of memory.
#pragma once

#include <optional>
#include <string>

#include "remote/protocol/messages.h"
#include "remote/server/front/credentials.h"
#include "remote/server/peers/peer_handshake.h"
#include "remote/server/processes/packets.h"
#include "remote/transport/frames.h"

namespace cleave::remote::server {

struct Greeted {
  ClientInfo client;
  Grant grant;
};

// What a connection begins with, one of both: the Hello of a client, which lies in the reader's message, or that of a server
// which fetches contents.
struct Opening {
  const wire::Hello* hello = nullptr;
  std::optional<PeerOpening> peer;
};
// Empty: it is neither, or does not come until `until`; `why` says which.
std::optional<Opening> read_opening(FrameReader& input, Time until, std::string& why);

// Of a client that has proved to own a certificate of this name (empty: of none). Empty: the client is refused, and told so where it
// speaks the protocol; `why` is set.
std::optional<Greeted> check_hello(Stream& stream, const wire::Hello& hello, const Credentials& credentials,
                                   const std::string& certificate, std::string& why);

}  // namespace cleave::remote::server
