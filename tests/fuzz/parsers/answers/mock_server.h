// The answers of a correct server without a device to each command, for programs that use nothing unusual. All data that it
// returns is kData.
//
// Not thread-safe: one object for each connection.
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

// A frame: its message, and the number of bytes of kData after it.
struct MockFrame {
  std::vector<std::uint8_t> message;
  std::uint64_t payload = 0;
};

// What has ended so far (messages.fbs: Events).
struct Totals {
  std::uint64_t commands = 0;
  std::uint64_t bytes = 0;
};

MockFrame welcome(std::uint64_t features);

class MockServer {
 public:
  // Each server has a separate range of addresses for shared virtual memory.
  explicit MockServer(unsigned server)
      : next_address_((std::uint64_t{1} << 45U) + (std::uint64_t{server} << 40U)) {}

  // What the command is to be answered with: its Answer, its Completion, or both.
  MockFrame reply(const wire::Command& command, bool answers, bool completes, Totals totals);

  // The destruction of watched memory objects of a Release. Without items if there are none.
  MockFrame gone(const wire::Release& release, Totals totals) const;
  void watch(std::uint64_t object) { watched_.insert(object); }

 private:
  std::uint64_t next_address_;
  std::set<std::uint64_t> watched_;
};

// An Events without items.
MockFrame empty_events(Totals totals);
MockFrame pong(std::uint64_t number, Totals totals);
// A part of a read's data.
MockFrame part(std::uint32_t request, std::uint64_t at, std::uint64_t bytes, Totals totals);

// The bytes that a read gives; 0 for other commands.
std::uint64_t bytes_of_read(const wire::Command& command);

}  // namespace cleave::fuzz::answers
