// Whether there is a place for a client, and which clients wait for one.
//
// Decides only. Not thread-safe: for the supervisor's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "remote/server/supervisor/front_process.h"

namespace cleave::remote::server {

struct PlaceLimits {
  unsigned clients = 16;       // and as many that only query the devices
  unsigned per_peer = 0;       // 0: as many as there are
  bool mixes_tenants = false;  // clients of different names may be served at a time
};

// A client that is served.
struct Occupant {
  bool is_query = false;
  std::string peer_key;
  std::string tenant;
};

// Why there is no place for a client.
enum class Obstacle : std::uint8_t {
  none,
  clients,      // too many
  peer,         // too many of its address or user
  sessions,     // too many of its name
  other_names,  // clients of other names are served or came first, and nothing keeps workers apart
};

// The newcomer's obstacle among those that are served. `lost`: places that are taken by processes that cannot be ended.
Obstacle obstacle_for(const Introduction& newcomer, const std::vector<Occupant>& served, std::size_t lost,
                      const PlaceLimits& limits);
// For the client's user.
std::string text_of(Obstacle obstacle, const std::string& tenant);

// Clients that wait for a place, in their order of arrival. One peer may take at most half of the list, and so may one
// name.
class WaitingList {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Entry {
    Newcomer newcomer;
    Time until{};  // when it is refused
  };

  // At most so many wait.
  explicit WaitingList(std::size_t most) : most_(most) {}

  [[nodiscard]] bool has_place_for(const Introduction& newcomer) const;
  void add(Newcomer newcomer, Time until) { waiting_.push_back({std::move(newcomer), until}); }
  [[nodiscard]] const std::vector<Entry>& all() const { return waiting_; }
  // Gives every waiting client the current grant of its name.
  void renew(const NamedGrants& named) {
    for (Entry& each : waiting_) named.renew(each.newcomer.introduction.grant);
  }

  // Removes the first one for which `condition(entry)` holds; it is called for each in their order. Empty: none.
  template <typename Condition>
  std::optional<Newcomer> take_first(Condition condition) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), condition);
    if (found == waiting_.end()) return std::nullopt;
    Newcomer taken = std::move(found->newcomer);
    waiting_.erase(found);
    return taken;
  }

  // Removes the first one that can be served: whose obstacle, by `obstacle(introduction)`, is none. A client that waits
  // because others have another name is not overtaken, or it might wait for ever. Empty: none.
  template <typename ObstacleOf>
  std::optional<Newcomer> take_next(ObstacleOf obstacle) {
    bool is_held_up = false;
    return take_first([&](const Entry& each) {
      const Obstacle why = obstacle(each.newcomer.introduction);
      is_held_up = is_held_up || why == Obstacle::other_names;
      return why == Obstacle::none && !is_held_up;
    });
  }

 private:
  const std::size_t most_;
  std::vector<Entry> waiting_;
};

}  // namespace cleave::remote::server
