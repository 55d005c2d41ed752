// Names that clients give, as they may go into logs.
//
// Thread-safe: pure functions. Nothing grows in the first one: a character of several bytes becomes one.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text/display_text.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::server {

// What of it may be displayed, and not too long.
inline std::string printable(std::string_view text) { return base::displayable(text.substr(0, kMaxName)); }

// What a client says that it is called, for the log, where it must not pass for what the server says of it.
inline std::string quoted(std::string name) {
  std::replace(name.begin(), name.end(), '"', '\'');
  return '"' + name + '"';
}

}  // namespace cleave::remote::server
