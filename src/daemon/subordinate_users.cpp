#include "daemon/subordinate_users.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace cleave::daemon {

SubordinateUsers::SubordinateUsers(std::istream& lines) {
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Range range;
    char colon = 0;
    if (std::getline(fields, range.owner, ':') && fields >> range.first >> colon >> range.count &&
        colon == ':')
      ranges_.push_back(std::move(range));
  }
}

const SubordinateUsers& SubordinateUsers::of_system() {
  static const SubordinateUsers users = [] {
    std::ifstream file("/etc/subuid");
    return SubordinateUsers(file);
  }();
  return users;
}

std::optional<std::string> SubordinateUsers::owner_of(uid_t user) const {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), [user](const Range& range) {
    return user >= range.first && user - range.first < range.count;
  });
  return found != ranges_.end() ? std::optional(found->owner) : std::nullopt;
}

}  // namespace cleave::daemon
