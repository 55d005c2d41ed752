// A server of good faith without a device: what it says to each command, so that a program that asks for
// nothing unusual gets what it asks for. All data that it gives is kData.
//
// Not thread-safe: each connection has its own.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "remote/protocol/messages.h"

namespace cleave::fuzz::answers {

namespace wire = remote::wire;

inline constexpr std::uint8_t kData = 0x5a;
inline constexpr std::uint64_t kPlatform = std::uint64_t{1} << 63U;
inline constexpr std::uint64_t kDevice = kPlatform + 1;

// A frame: its message, and how many bytes of kData are behind it.
struct Said {
  std::vector<std::uint8_t> message;
  std::uint64_t payload = 0;
};

// What has ended so far (messages.fbs: Events).
struct Totals {
  std::uint64_t commands = 0;
  std::uint64_t bytes = 0;
};

Said welcome(std::uint64_t features);

class MockServer {
 public:
  // Each server has addresses of its own for shared virtual memory.
  explicit MockServer(unsigned server)
      : next_address_((std::uint64_t{1} << 45U) + (std::uint64_t{server} << 40U)) {}

  // What the command wants to hear: its Answer, its Completion, or both.
  Said reply(const wire::Command& command, bool answers, bool completes, Totals totals);

  // That memory objects of a Release are gone which the client watches. No items: there are none.
  Said gone(const wire::Release& release, Totals totals) const;
  void watch(std::uint64_t object) { watched_.insert(object); }

 private:
  std::uint64_t next_address_;
  std::set<std::uint64_t> watched_;
};

// An Events without items.
Said empty_events(Totals totals);
Said pong(std::uint64_t number, Totals totals);
// A part of a read's data.
Said part(std::uint32_t request, std::uint64_t at, std::uint64_t bytes, Totals totals);

// The bytes that a read gives; 0 for other commands.
std::uint64_t bytes_of_read(const wire::Command& command);

}  // namespace cleave::fuzz::answers
