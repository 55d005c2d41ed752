// What the operator grants a client, whom the front has identified by its token or certificate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/settings/configuration.h"

namespace cleave::remote::server {

inline constexpr std::size_t kMaxGrantText = 32;

// What is not set is as the server's options, and the settings that it was started with, say for everybody.
struct Grant {
  std::string tenant;  // printable; empty: the client has no name that it could prove
  std::optional<std::uint64_t>
      memory{};           // bytes: of a session, and on each device of all sessions with this name
  unsigned sessions = 0;  // at a time, of all clients with this name; 0: not limited
  // Of all sessions together, in turns, as the settings have them (at most kMaxGrantText bytes); empty: not set.
  std::string weight{};
  std::string cap{};
  std::string priority{};

  bool operator==(const Grant&) const = default;
};

// The settings of the splitter that serves the client: the grant's in place of the environment's. May throw std::bad_alloc.
base::Environment environment_for(const Grant& grant, base::Environment otherwise);

}  // namespace cleave::remote::server
