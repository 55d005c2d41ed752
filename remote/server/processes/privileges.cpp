#include "remote/server/processes/privileges.h"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "remote/server/options/options.h"
#include "remote/server/processes/log.h"
#include "remote/server/sandbox/identity.h"

namespace cleave::remote::server {
namespace {

OptionError not_permitted(const std::string& name) {
  return OptionError("--user: not allowed to become \"" + name + "\"; only root is");
}

Identity find_user(const std::string& name) {
  auto user = identity_of(name);
  if (!user) throw OptionError("--user: there is no user \"" + name + "\"");
  return std::move(*user);
}

// The home folder is set as well: drivers keep compiled programs below it, which they could not below root's.
void switch_user(const std::string& name) {
  const Identity user = find_user(name);
  if (::geteuid() == user.user) return;
  if (!become(user)) throw not_permitted(name);
  ::setenv("HOME", user.home.c_str(), 1);
  ::setenv("USER", user.name.c_str(), 1);
  ::setenv("LOGNAME", user.name.c_str(), 1);
}

void limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  ::getrlimit(resource, &now);
  if (now.rlim_cur > most || now.rlim_cur == RLIM_INFINITY) now.rlim_cur = most;
  if (now.rlim_max > most || now.rlim_max == RLIM_INFINITY) now.rlim_max = most;
  ::setrlimit(resource, &now);
}

}  // namespace

void check_user(const std::string& user) {
  if (user.empty()) return;
  if (::geteuid() != find_user(user).user && ::geteuid() != 0) throw not_permitted(user);
}

void check_cache(const std::string& user) {
  if (user.empty() || ::geteuid() != 0) return;
  const Identity wanted = find_user(user);
  struct stat home {};
  const bool owns_home = ::stat(wanted.home.c_str(), &home) == 0 && home.st_uid == wanted.user;
  if (!owns_home && std::getenv("XDG_CACHE_HOME") == nullptr && std::getenv("POCL_CACHE_DIR") == nullptr) {
    log_line("--user: \"" + user +
             "\" owns no home folder, where drivers keep what they have compiled; set " +
             "XDG_CACHE_HOME to a folder of its own");
  }
}

void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void hide_memory() {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
}

void drop_privileges(const std::string& user, rlim_t most_files) {
  if (!user.empty()) switch_user(user);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  hide_memory();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  limit(RLIMIT_NOFILE, most_files);
}

}  // namespace cleave::remote::server
