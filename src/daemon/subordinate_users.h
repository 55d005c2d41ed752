// Subordinate user ids, of which every user of a host may have very many for its user namespaces (subuid(5)). For limits all ids of
// one owner are one peer.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cleave::daemon {

class SubordinateUsers {
 public:
  // Lines "OWNER:FIRST:COUNT"; others are left out.
  explicit SubordinateUsers(std::istream& lines);
  // /etc/subuid, as it was at the first call. Other sources of subordinate ids (nsswitch.conf) are not known.
  static const SubordinateUsers& of_system();

  // The owner as in the file: a name, or a number.
  [[nodiscard]] std::optional<std::string> owner_of(uid_t user) const;

 private:
  struct Range {
    std::string owner;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  std::vector<Range> ranges_;
};

}  // namespace cleave::daemon
