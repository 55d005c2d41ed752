// Text from outside, as it may be printed: into logs, to terminals, into files that people read.
//
// Text from a client, a server, a file, a driver or another process may contain anything, and terminals act on more than the ASCII
// control characters: U+009B begins their commands, U+202E turns the rest of the line around. Everything that is printed
// and not Cleave's own text goes through one of these; log lines (log.h) do as a whole.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cleave::base {

// The length in bytes of the UTF-8 character at the start of `text`, which is not empty; 0 if it is invalid.
std::size_t utf8_length(std::string_view text) noexcept;

// Of such a character, which is valid.
std::uint32_t code_point(std::string_view character) noexcept;

// Whether that character, which is valid, may be shown: no control character of ASCII or Latin-1 (C0, DEL, C1), no mark that
// changes the direction of text, no separator of lines or paragraphs, and nothing invisible that is only there to confuse
// (tags, the byte order mark).
bool is_displayable(std::string_view character) noexcept;

// One line of valid UTF-8. Each character that may not be shown, and each byte that belongs to none, is a '?'.
std::string displayable(std::string_view text);

// The same with newlines.
std::string displayable_lines(std::string_view text);

// Where each byte is a column: only ASCII is kept.
std::string displayable_ascii(std::string_view text);

}  // namespace cleave::base
