#include "remote/server/sandbox/identity.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/text/number.h"

namespace cleave::remote::server {
namespace {

// What the kernel shows for ids that a namespace does not know; -1 means no id.
constexpr uid_t kUnknown = 65534;
constexpr uid_t kMaxUser = 0xFFFFFFFE - 1;

}  // namespace

std::optional<Identity> identity_of(const std::string& name) {
  const passwd* const user = ::getpwnam(name.c_str());
  if (user == nullptr) return std::nullopt;
  Identity identity{user->pw_uid, user->pw_gid, {}, user->pw_name, user->pw_dir};
  int count = 64;
  identity.groups.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(user->pw_name, user->pw_gid, identity.groups.data(), &count) < 0) {
    identity.groups.resize(static_cast<std::size_t>(count));
    ::getgrouplist(user->pw_name, user->pw_gid, identity.groups.data(), &count);
  }
  identity.groups.resize(static_cast<std::size_t>(count));
  return identity;
}

std::optional<UserRange> read_user_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto first = base::parse_unsigned(std::string_view(text).substr(0, dash), 1, kMaxUser);
  const auto last = base::parse_unsigned(std::string_view(text).substr(dash + 1), 1, kMaxUser);
  if (!first || !last || *first > *last || (*first <= kUnknown && *last >= kUnknown)) return std::nullopt;
  return UserRange{static_cast<uid_t>(*first), static_cast<uid_t>(*last)};
}

std::optional<uid_t> choose_user(const UserRange& range, const std::set<uid_t>& taken) {
  for (uid_t user = range.first; user <= range.last; ++user) {
    if (!taken.contains(user)) return user;
  }
  return std::nullopt;
}

std::string user_in(const UserRange& range) {
  std::string found;
  ::setpwent();
  while (const passwd* const user = ::getpwent()) {
    if (user->pw_uid >= range.first && user->pw_uid <= range.last) found = user->pw_name;
  }
  ::endpwent();
  return found;
}

bool become(const Identity& identity) {
  if (::geteuid() == identity.user && ::geteuid() != 0) return true;
  return ::setgroups(identity.groups.size(), identity.groups.data()) == 0 && ::setgid(identity.group) == 0 &&
         ::setuid(identity.user) == 0;
}

}  // namespace cleave::remote::server
