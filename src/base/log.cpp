#include "base/log.h"

#include <cerrno>
#include <string>
#include <unistd.h>

#include "base/ignore_sigpipe.h"

namespace cleave::base {

void write_stderr(std::string_view text) noexcept {
  const int saved = errno;
  {
    const ScopedIgnoreSigpipe ignore_sigpipe;
    while (!text.empty()) {
      const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  errno = saved;
}

void log_line(std::string_view line) noexcept {
  try {
    write_stderr(std::string("cleave: ").append(line).append("\n"));
  } catch (...) {
    write_stderr("cleave: out of memory while reporting a problem\n");
  }
}

}  // namespace cleave::base
