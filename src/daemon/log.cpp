#include "daemon/log.h"

#include <string>

#include "base/log.h"

namespace cleave::daemon {

void log_line(std::string_view program, std::string_view line) noexcept try {
  std::string text(program);
  text.append(": ");
  for (const char c : line) text.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
  base::write_stderr(text.append("\n"));
} catch (...) {
  base::write_stderr("out of memory for a log line\n");
}

}  // namespace cleave::daemon
