// Whether there is a place for a client, and who waits for one.
//
// Decides only. Not thread-safe: for the supervisor's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "remote/server/supervisor/front_process.h"

namespace cleave::remote::server {

struct PlaceLimits {
  unsigned clients = 16;       // and as many that only ask for the devices
  unsigned per_peer = 0;       // 0: as many as there are
  bool mixes_tenants = false;  // clients of different names may be served at a time
};

// A client that is served.
struct Occupant {
  bool is_query = false;
  std::string peer_key;
  std::string tenant;
};

// Why there is no place for the newcomer among those who are served, in words for its user; empty: there is. `lost`: places that
// are taken by what cannot be ended.
std::string reason_against(const Introduction& newcomer, const std::vector<Occupant>& served,
                           std::size_t lost, const PlaceLimits& limits);

// Clients that wait until there is a place, in the order in which they have come.
class WaitingList {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Entry {
    Newcomer newcomer;
    Time until{};  // when it is refused
  };

  // At most so many wait.
  explicit WaitingList(std::size_t most) : most_(most) {}

  [[nodiscard]] bool is_full() const { return waiting_.size() >= most_; }
  void add(Newcomer newcomer, Time until) { waiting_.push_back({std::move(newcomer), until}); }
  [[nodiscard]] const std::vector<Entry>& all() const { return waiting_; }

  // Removes the first one for which `condition(entry)` holds. Empty: none.
  template <typename Condition>
  std::optional<Newcomer> take_first(Condition condition) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), condition);
    if (found == waiting_.end()) return std::nullopt;
    Newcomer taken = std::move(found->newcomer);
    waiting_.erase(found);
    return taken;
  }

 private:
  const std::size_t most_;
  std::vector<Entry> waiting_;
};

}  // namespace cleave::remote::server
