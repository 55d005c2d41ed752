// Names that clients give, as they may go into logs.
//
// Thread-safe: a pure function.
#pragma once

#include <algorithm>
#include <string>

#include "remote/protocol/limits.h"

namespace cleave::remote::server {

// Without control characters, and not too long.
inline std::string printable(std::string text) {
  text.resize(std::min(text.size(), kMaxName));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

}  // namespace cleave::remote::server
