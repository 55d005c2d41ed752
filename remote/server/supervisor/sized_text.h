// Texts within the messages of the server's processes, which are words and numbers with spaces between them. A text may be any bytes:
// its size comes before it.
//
// Thread-safe: plain functions of their arguments. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace cleave::remote::server {

// With the space that is behind it.
void write_sized(std::ostream& stream, const std::string& text);

// False: it is incomplete, or longer than `most` bytes.
bool read_sized(std::istream& stream, std::string& text, std::size_t most);

}  // namespace cleave::remote::server
