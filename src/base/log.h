// Cleave's output inside other people's programs: single lines on standard error, and nothing on standard output.
//
// Thread-safe: a line is one write(2), so lines of different threads and processes do not mix. Neither function
// throws, fails or changes errno; output is lost if standard error is closed.
#pragma once

#include <string_view>

namespace cleave::base {

// Writes "cleave: LINE\n", with only the displayable characters of the line (display_text.h).
void log_line(std::string_view line) noexcept;

// Writes `text` unchanged.
void write_stderr(std::string_view text) noexcept;

}  // namespace cleave::base
