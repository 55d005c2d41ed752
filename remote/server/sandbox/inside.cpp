#include "remote/server/sandbox/inside.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "remote/server/sandbox/bubblewrap.h"

namespace cleave::remote::server {
namespace {

namespace fs = std::filesystem;

bool is_in_sandbox() {
  struct stat status {};
  return ::lstat(kProgramInside, &status) == 0 && S_ISLNK(status.st_mode);
}

// Since Linux 5.14 processes are counted for each user and user namespace.
bool counts_by_namespace() {
  utsname system{};
  unsigned major = 0;
  unsigned minor = 0;
  if (::uname(&system) != 0 || std::sscanf(system.release, "%u.%u", &major, &minor) != 2) return false;
  return major > 5 || (major == 5 && minor >= 14);
}

void limit_processes(unsigned most) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max <= most) return;
  limit.rlim_cur = limit.rlim_max = most;
  ::setrlimit(RLIMIT_NPROC, &limit);
}

// What a driver finds damaged in its cache it compiles again.
void copy_seed() {
  const char* const seed = std::getenv(kSeedVariable);
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (seed == nullptr || cache == nullptr) return;
  std::error_code error;
  fs::copy(seed, cache, fs::copy_options::recursive | fs::copy_options::skip_symlinks, error);
  ::unsetenv(kSeedVariable);
}

}  // namespace

void settle_inside(const SandboxSettings& settings) {
  const bool inside = is_in_sandbox();
  if (inside) ::close(kProgramDescriptor);
  if (settings.users || (inside && counts_by_namespace())) limit_processes(settings.processes);
  copy_seed();
}

}  // namespace cleave::remote::server
