#include "daemon/log.h"

#include <string>

#include "base/log.h"
#include "base/text/display_text.h"

namespace cleave::daemon {

void log_line(std::string_view program, std::string_view line) noexcept try {
  base::write_stderr(std::string(program).append(": ").append(base::displayable(line)).append("\n"));
} catch (...) {
  base::write_stderr("out of memory for a log line\n");
}

}  // namespace cleave::daemon
