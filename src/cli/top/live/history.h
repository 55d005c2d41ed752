// The shares of a device, a process or a tenant at the last looks, and how they are drawn.
//
// For one thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "cli/top/live/rows.h"

namespace cleave::cli {

class Histories {
 public:
  static constexpr std::size_t kMostShares = 200;

  // Appends a share to those of `key`, and returns them all.
  const Shares& add(const std::string& key, double share);
  // Those of `key` as they are; empty if there are none.
  [[nodiscard]] Shares of(const std::string& key) const;
  // Forgets those to which nothing was added since the last call.
  void end_look();

 private:
  std::map<std::string, Shares> all_;
  std::set<std::string> seen_;
};

// The last `width` shares, a character each, with blanks before them: in block elements, or in ASCII. A share above none at all is
// never drawn as none.
std::string sparkline(const Shares& shares, std::size_t width, bool unicode);

}  // namespace cleave::cli
