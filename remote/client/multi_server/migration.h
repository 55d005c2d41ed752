// Moves of contents from one server to another: read into memory of ours, some at a time, and written from
// there.
//
// A move begins when all that it needs is over, so it waits for nothing but the two servers, whatever the
// program does. One thread makes them one after the other. They pass by the windows of their connections:
// what fills these may be waiting for them.
#pragma once

#include <memory>
#include <vector>

#include "remote/client/multi_server/coherence.h"
#include "remote/client/multi_server/command_order.h"

namespace cleave::remote::client::multi_server {

struct Migration {
  Migration(std::shared_ptr<CoherenceState> the_contents, std::size_t from_part, std::size_t to_part);
  Migration(const Migration&) = delete;
  Migration& operator=(const Migration&) = delete;
  ~Migration() = default;

  std::shared_ptr<CoherenceState> coherence;
  std::size_t from;
  std::size_t to;
  std::vector<std::shared_ptr<Operation>> dependencies;
  std::vector<std::shared_ptr<Operation>>
      suppliers;  // how the source got them: if that failed there is nothing to move
  std::shared_ptr<Operation> done = std::make_shared<Operation>();
  HeldMemory source;  // until the end, if the program lets go of its object
  HeldMemory target;
};

// It is begun as soon as may be. Never waits.
void start(const std::shared_ptr<Migration>& move);

}  // namespace cleave::remote::client::multi_server
