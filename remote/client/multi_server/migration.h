// Carrying out migrations: contents go from one server to the other directly (direct_transfer.h), or, where that can't be done or
// has failed, they are read from one server into this process's memory, in chunks, and written from there to the other server.
//
// A migration begins when everything that it depends on is over, so it waits for nothing but the two servers, whatever the
// program does. One thread (client.migration_worker) runs migrations one after the other. Their commands are sent even when
// the connections' windows are full, since what fills these may be waiting for the migration.
//
// Thread-safe.
#pragma once

#include <memory>

#include "remote/client/multi_server/coherence.h"

namespace cleave::remote::client::multi_server {

// Starts the migration as soon as its dependencies are over. Never blocks.
void start(const std::shared_ptr<Migration>& migration);

}  // namespace cleave::remote::client::multi_server
