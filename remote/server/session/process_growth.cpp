#include "remote/server/session/process_growth.h"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include "base/files/file_descriptor.h"

namespace cleave::remote::server {

std::uint64_t private_memory(const char* process) {
  char text[64];
  std::snprintf(text, sizeof text, "/proc/%s/statm", process);
  const base::FileDescriptor file(::open(text, O_RDONLY | O_CLOEXEC));
  const ssize_t got = ::read(file.get(), text, sizeof text - 1);
  if (got <= 0) return 0;
  text[got] = '\0';
  unsigned long long all = 0;
  unsigned long long resident = 0;
  unsigned long long shared = 0;
  if (std::sscanf(text, "%llu %llu %llu", &all, &resident, &shared) != 3 || shared > resident) return 0;
  return (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t ProcessGrowth::bytes() {
  const auto now = std::chrono::steady_clock::now();
  if (now - read_ < kPeriod) return bytes_;
  read_ = now;
  const std::uint64_t has = private_memory("self");
  return bytes_ = has > before_ ? has - before_ : 0;
}

}  // namespace cleave::remote::server
