#include "base/settings/program_path.h"

#include <unistd.h>

#include "base/settings/settings.h"

namespace cleave::base {

std::string program_path() {
  std::string path(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return path;
}

bool is_program(const std::string& path, const std::string& pattern) {
  if (path.empty()) return false;
  return matches(pattern, pattern.find('/') == std::string::npos ? path.substr(path.rfind('/') + 1) : path);
}

}  // namespace cleave::base
