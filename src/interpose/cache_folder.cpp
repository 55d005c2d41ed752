#include "interpose/cache_folder.h"

#include <cstdint>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

namespace cleave::interpose {

std::string key_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  return std::to_string(hash);
}

void append_line(const std::string& folder, const std::string& file, const std::string& line) {
  mkdir(folder.substr(0, folder.find_last_of('/')).c_str(), 0700);
  mkdir(folder.c_str(), 0700);
  const std::string path = folder + "/" + file;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return;
  if (write(descriptor, line.data(), line.size()) < 0) {  // nothing that could be done about it
  }
  close(descriptor);
}

}  // namespace cleave::interpose
