// What Cleave says while somebody else's program runs: single lines on standard error, never anything else,
// and never on standard output.
//
// Thread-safe: a line is written with one system call, so lines of different threads and processes do not
// mix.
#pragma once

#include <string_view>

namespace cleave::base {

// Writes "cleave: <line>\n" to standard error. Does nothing where standard error is closed; never fails,
// never throws.
void log_line(std::string_view line) noexcept;

// Writes `text` as it is to standard error, as one write where the system allows. Never fails, never throws.
void write_stderr(std::string_view text) noexcept;

}  // namespace cleave::base
