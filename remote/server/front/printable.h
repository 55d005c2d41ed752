// Names that clients give, as they may go into logs.
//
// Thread-safe: a pure function. Nothing in it grows: a character of several bytes becomes one.
#pragma once

#include <string>
#include <string_view>

#include "base/display_text.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::server {

// What of it may be displayed, and not too long.
inline std::string printable(std::string_view text) { return base::displayable(text.substr(0, kMaxName)); }

}  // namespace cleave::remote::server
