#include "remote/server/processes/privileges.h"

#include <csignal>
#include <cstdlib>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "remote/server/options/options.h"
#include "remote/server/processes/log.h"

namespace cleave::remote::server {
namespace {

OptionError not_permitted(const std::string& name) {
  return OptionError("--user: not allowed to become \"" + name + "\"; only root is");
}

const passwd& find_user(const std::string& name) {
  const passwd* const user = ::getpwnam(name.c_str());
  if (user == nullptr) throw OptionError("--user: there is no user \"" + name + "\"");
  return *user;
}

// The home folder is set as well: drivers keep compiled programs below it, which they could not below root's.
void switch_user(const std::string& name) {
  const passwd& user = find_user(name);
  if (::geteuid() == user.pw_uid) return;
  if (::initgroups(user.pw_name, user.pw_gid) != 0 || ::setgid(user.pw_gid) != 0 ||
      ::setuid(user.pw_uid) != 0) {
    throw not_permitted(name);
  }
  ::setenv("HOME", user.pw_dir, 1);
  ::setenv("USER", user.pw_name, 1);
  ::setenv("LOGNAME", user.pw_name, 1);
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
  const passwd& wanted = find_user(user);
  if (::geteuid() == wanted.pw_uid) return;
  if (::geteuid() != 0) throw not_permitted(user);
}

void check_cache(const std::string& user) {
  if (user.empty() || ::geteuid() != 0) return;
  const passwd& wanted = find_user(user);
  struct stat home {};
  const bool owns_home = ::stat(wanted.pw_dir, &home) == 0 && home.st_uid == wanted.pw_uid;
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
