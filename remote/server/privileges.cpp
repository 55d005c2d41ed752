#include "remote/server/privileges.h"

#include <csignal>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>

#include "remote/server/options.h"

namespace cleave::remote::server {
namespace {

// Drivers open devices and caches; a client opens nothing.
constexpr rlim_t kMostFiles = 4096;

void become(const std::string& name) {
  const passwd* const user = ::getpwnam(name.c_str());
  if (user == nullptr) throw OptionError("--user: there is no user \"" + name + "\"");
  if (::geteuid() == user->pw_uid) return;
  if (::initgroups(user->pw_name, user->pw_gid) != 0 || ::setgid(user->pw_gid) != 0 ||
      ::setuid(user->pw_uid) != 0) {
    throw OptionError("--user: not allowed to become \"" + name + "\"; only root is");
  }
}

void limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  ::getrlimit(resource, &now);
  if (now.rlim_cur > most || now.rlim_cur == RLIM_INFINITY) now.rlim_cur = most;
  if (now.rlim_max > most || now.rlim_max == RLIM_INFINITY) now.rlim_max = most;
  ::setrlimit(resource, &now);
}

}  // namespace

void drop_privileges(const std::string& user) {
  if (!user.empty()) become(user);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, kMostFiles);
}

}  // namespace cleave::remote::server
