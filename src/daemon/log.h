// The daemons' log: lines on standard error.
//
// Thread-safe: a line is one write(2). Never throws.
#pragma once

#include <string_view>

namespace cleave::daemon {

// Writes "PROGRAM: LINE\n". Control characters become question marks: a line may contain text that a peer has sent.
void log_line(std::string_view program, std::string_view line) noexcept;

}  // namespace cleave::daemon
