// What the operator grants a client, whom the front has identified by its token or certificate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/settings.h"

namespace cleave::remote::server {

// What is not set is as the server's options, and the settings that it was started with, say for everybody.
struct Grant {
  std::string tenant;                     // printable; empty: the client has no name that it could prove
  std::optional<std::uint64_t> memory{};  // bytes of all that the client has kept
  unsigned sessions = 0;                  // at a time, of all clients with this name; 0: not limited
  unsigned weight = 0;  // of each session among those that share a device in turns; 0: not set
  std::optional<base::TurnPriority> priority{};

  bool operator==(const Grant&) const = default;
};

}  // namespace cleave::remote::server
