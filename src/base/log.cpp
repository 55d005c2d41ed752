#include "base/log.h"

#include <cerrno>
#include <string>
#include <unistd.h>

#include "base/broken_pipe.h"

namespace cleave::base {

void print(std::string_view text) noexcept {
  const int saved = errno;
  {
    const WithoutBrokenPipes safely;
    while (!text.empty()) {
      const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  errno = saved;  // we run inside other people's calls
}

void say(std::string_view line) noexcept {
  try {
    std::string whole = "cleave: ";
    whole.append(line).push_back('\n');
    print(whole);
  } catch (...) {
    print("cleave: out of memory while reporting a problem\n");
  }
}

}  // namespace cleave::base
