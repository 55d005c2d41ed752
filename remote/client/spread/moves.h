// Moves of contents from one server to another: read into memory of ours, some at a time, and written from
// there.
//
// A move begins when all that it needs is over, so it waits for nothing but the two servers, whatever the
// program does. One thread makes them one after the other. They pass by the windows of their connections:
// what fills these may be waiting for them.
#pragma once

#include <memory>
#include <vector>

#include "remote/client/spread/contents.h"
#include "remote/client/spread/ordering.h"

namespace cleave::remote::client::spread {

struct Move {
  Move(std::shared_ptr<Contents> the_contents, std::size_t from_part, std::size_t to_part);
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  ~Move() = default;

  std::shared_ptr<Contents> contents;
  std::size_t from;
  std::size_t to;
  std::vector<std::shared_ptr<Step>> needs;
  std::vector<std::shared_ptr<Step>>
      givers;  // how the source got them: if that failed there is nothing to move
  std::shared_ptr<Step> done = std::make_shared<Step>();
  HeldMemory source;  // until the end, if the program lets go of its object
  HeldMemory target;
};

// It is begun as soon as may be. Never waits.
void start(const std::shared_ptr<Move>& move);

}  // namespace cleave::remote::client::spread
