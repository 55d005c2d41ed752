// The users that workers run as.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "remote/server/sandbox/settings.h"

namespace cleave::remote::server {

struct Identity {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // all of them
  std::string name;
  std::string home;
};

// Of a user by its name; empty: there is none. Not thread-safe.
std::optional<Identity> identity_of(const std::string& name);

// "FIRST-LAST": two user ids, neither root's nor the overflow id (nobody). Pure.
std::optional<UserRange> read_user_range(const std::string& text);

// An id that is not taken yet; empty: all are. Pure.
std::optional<uid_t> choose_user(const UserRange& range, const std::set<uid_t>& taken);

// The name of a user of this system with an id in the range; empty: there is none. Not thread-safe.
std::string user_in(const UserRange& range);

// For a forked child, for good: allocates nothing. False: that is not permitted.
bool become(const Identity& identity);

}  // namespace cleave::remote::server
