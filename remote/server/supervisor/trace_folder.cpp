#include "remote/server/supervisor/trace_folder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

namespace cleave::remote::server {

std::string problem_of_trace_folder(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "not a folder";
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : std::string(std::strerror(errno));
}

base::FileDescriptor create_trace_file(const std::string& folder, pid_t process) {
  const std::string path = folder + "/" + std::to_string(process) + ".json";
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return {};
  return base::FileDescriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

}  // namespace cleave::remote::server
