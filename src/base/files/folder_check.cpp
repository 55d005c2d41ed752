#include "base/files/folder_check.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <sys/stat.h>

namespace cleave::base {
namespace {

std::string because(const char* what, int error) {
  return std::string(what).append(" (").append(std::strerror(error)).append(")");
}

}  // namespace

std::string folder_problem(const std::string& folder, unsigned parents) {
  const std::size_t slash = folder.rfind('/');
  struct stat status {};
  if (stat(folder.c_str(), &status) == 0) {
    if (!S_ISDIR(status.st_mode)) return "is not a folder";
    return access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : because("cannot be written to", errno);
  }
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return because("cannot be created", errno);
  const std::string above = folder.substr(0, slash);
  if (parents == 0 && stat(above.c_str(), &status) != 0) return because("cannot be created", errno);
  const std::string wrong = folder_problem(above, parents == 0 ? 0 : parents - 1);
  return wrong.empty() ? wrong : "cannot be created: " + above + " " + wrong;
}

}  // namespace cleave::base
