// The log of cleave-serverd: lines on standard error, "cleave-serverd: ...". Thread-safe; a line is one write(2).
#pragma once

#include <string_view>

#include "daemon/log.h"

namespace cleave::remote::server {

inline void log_line(std::string_view line) noexcept { daemon::log_line("cleave-serverd", line); }

}  // namespace cleave::remote::server
