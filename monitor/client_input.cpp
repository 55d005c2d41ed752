#include "monitor/client_input.h"

#include <algorithm>

#include "cleave/monitor.h"

namespace cleave::monitor {

static_assert(CLEAVE_MONITOR_LINE_MAX <= UINT8_MAX);

ClientInput::ParsedInput ClientInput::take(std::string_view bytes) {
  ParsedInput heard;
  for (const char byte : bytes) {
    if (!take(byte, heard)) break;
  }
  return heard;
}

bool ClientInput::take(char byte, ParsedInput& heard) {
  if (byte == '\n') {
    const std::string_view line(start_.data(), std::min<std::size_t>(length_, start_.size()));
    // Some interactive programs end lines with "\r\n".
    if (line == "ping" || line == "ping\r") heard.ping = length_ <= start_.size();
    length_ = 0;
    return true;
  }
  if (length_ + 1 >= CLEAVE_MONITOR_LINE_MAX) {  // the newline counts, too
    heard.too_long = true;
    return false;
  }
  if (length_ < start_.size()) start_[length_] = byte;
  ++length_;
  return true;
}

}  // namespace cleave::monitor
