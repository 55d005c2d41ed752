#include "base/files/regular_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"

namespace cleave::base {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a folder";
  if (S_ISFIFO(mode)) return "is a pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is a device";
}

std::string too_large(std::size_t most) {
  constexpr std::size_t kKilobyte = 1024;
  const bool mebibytes = most >= kKilobyte * kKilobyte;
  return "is larger than " + std::to_string(most / (mebibytes ? kKilobyte * kKilobyte : kKilobyte)) +
         (mebibytes ? " MiB" : " KiB");
}

// Users name it where nothing is to be read.
bool is_null_device(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

std::string irregularity(const struct stat& status, std::size_t most) {
  if (is_null_device(status)) return {};
  if (!S_ISREG(status.st_mode)) return std::string(kind_of(status.st_mode)) + ", not a regular file";
  return status.st_size > static_cast<off_t>(most) ? too_large(most) : std::string();
}

std::string cannot_be_read(int error) { return std::string("cannot be read: ") + std::strerror(error); }

}  // namespace

FileText read_regular_file(const std::string& path, std::size_t most) {
  FileText result;
  // Opening a device may do something: not even that.
  result.problem = irregularity_of(path, most);
  result.exists = !result.problem.empty();
  if (result.exists) return result;
  const FileDescriptor file(open_own(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) {
    const int error = errno;
    result.exists = error != ENOENT && error != ENOTDIR;
    result.problem = error == ENXIO ? "is a socket or a device, not a regular file" : cannot_be_read(error);
    return result;
  }
  result.exists = true;
  result.problem = irregularity(status, most);
  if (!result.problem.empty()) return result;
  // Files of /proc report a size of 0, and others may grow meanwhile.
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(status.st_size), most) + 1, '\0');
  std::size_t size = 0;
  while (true) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return result.problem = cannot_be_read(errno), result;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > most) return result.problem = too_large(most), result;
    if (size == text.size()) text.resize(std::min(2 * size + 4096, most + 1));
  }
  text.resize(size);
  result.text = std::move(text);
  return result;
}

std::string irregularity_of(const std::string& path, std::size_t most) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? irregularity(status, most) : std::string();
}

FileStamp stamp_of(const std::string& path) noexcept {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size,
          static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace cleave::base
