// Contents that go from one server to another directly: the source makes a ticket, with which the target fetches them
// (messages.fbs: OfferContents, FetchContents).
//
// Thread-safe.
#pragma once

#include "remote/client/api/api.h"
#include "remote/client/objects/object_state.h"

namespace cleave::remote::client::multi_server {

// The source or the target of a migration: a queue on its server, and the object there.
struct MigrationEnd {
  cl_command_queue queue;
  const MemoryState& memory;
};

// Whether both servers can do it, as far as is known, and it would pay.
bool can_go_directly(const MigrationEnd& from, const MigrationEnd& to);

// Waits until all of the contents are in the target's object. False: they are not, and nothing more of them will be written there.
bool transfer_directly(const MigrationEnd& from, const MigrationEnd& to);

}  // namespace cleave::remote::client::multi_server
