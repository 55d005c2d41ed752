#include "base/log.h"

#include <cerrno>
#include <string>
#include <unistd.h>

#include "base/files/file_descriptor.h"
#include "base/text/display_text.h"
#include "base/threads/ignore_sigpipe.h"

namespace cleave::base {

void write_stderr(std::string_view text) noexcept {
  const int saved = errno;
  {
    const ScopedIgnoreSigpipe ignore_sigpipe;
    static_cast<void>(write_all(STDERR_FILENO, text));
  }
  errno = saved;
}

void log_line(std::string_view line) noexcept {
  try {
    write_stderr(std::string("cleave: ").append(displayable(line)).append("\n"));
  } catch (...) {
    write_stderr("cleave: out of memory while reporting a problem\n");
  }
}

}  // namespace cleave::base
