// How this process takes part in what the processes on a device share, turns and the ledger: by itself, or by its broker if it has one.
//
// Thread-safe but for set_broker().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/threads/fork_locks.h"
#include "interpose/broker/broker_client.h"
#include "limits/memory_ledger.h"
#include "turns/turns.h"

namespace cleave::interpose {

// For all that is made from now on; before install(). It lives on.
void set_broker(BrokerClient* client) noexcept;
// Null: there is none.
[[nodiscard]] BrokerClient* broker() noexcept;

std::unique_ptr<turns::Turns> make_turns(base::ForkLocks& forks, const turns::Options& options);
// Null without a folder, and if that is not possible: `problem` says why in one line.
std::unique_ptr<limits::MemoryLedger> open_ledger(const std::string& folder, const std::string& identity,
                                                  std::string_view tenant, std::string& problem,
                                                  std::string_view device);

}  // namespace cleave::interpose
