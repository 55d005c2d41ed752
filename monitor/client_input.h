// Parses the input of a client: the line "ping"; other lines are ignored. Stores a few bytes of a line, however long it is.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cleave::monitor {

class ClientInput {
 public:
  struct ParsedInput {
    bool ping = false;      // at least one
    bool too_long = false;  // a line of more than CLEAVE_MONITOR_LINE_MAX bytes; what follows was not read
  };
  // Parses the next bytes, in portions of any size.
  ParsedInput take(std::string_view bytes);

 private:
  bool take(char byte, ParsedInput& heard);

  std::array<char, 5> start_{};  // of the current line; one byte longer than "ping", for "ping\r"
  std::uint8_t length_ = 0;      // of the current line
};

}  // namespace cleave::monitor
