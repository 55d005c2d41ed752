// The server's log: lines on standard error, "cleave-serverd: ...". Thread-safe; a line is written at once.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"

namespace cleave::remote::server {

inline void log_line(std::string_view line) {
  std::string whole("cleave-serverd: ");
  // What others have said may hold anything.
  for (const char c : line) whole.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
  base::write_stderr(whole.append("\n"));
}

}  // namespace cleave::remote::server
