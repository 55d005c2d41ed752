// What a process that may not write to the registry and its broker send each other, over a SOCK_SEQPACKET socket pair: messages of
// fixed size, without descriptors but for one that the broker sends first (the page of figures, figures.h).
//
// The broker trusts no message: the requests are those that a program without a broker carries out on the files by
// itself, so a process that sends invalid ones gains no more than one that sends valid ones at other times.
#pragma once

#include <array>
#include <cstdint>

#include "turns/turns.h"

namespace cleave::interpose {

enum class BrokerOp : std::uint8_t {
  declare,  // a device: `identity` and `name`. Not after `seal`
  seal,     // all devices have been declared, and nothing that a client has sent has been read before
  // The turns on a device. With an answer:
  join,  // `declared`
  begin,
  yield,
  should_yield,
  show_life,
  // Without one:
  interrupt,  // the yield that waits
  end,        // `duration`: the grace
  credit,     // `duration`: the idle time
  weigh,      // `divisor`. Of several in a short time the last one counts
  leave,
  // The ledger of a device. With an answer: `book`.
  book,     // `bytes`
  release,  // `bytes`
};
inline constexpr auto kLastBrokerOp = BrokerOp::release;

struct BrokerRequest {
  std::uint32_t number = 0;  // of the answer; 0: none is wanted
  BrokerOp op = BrokerOp::seal;
  std::uint8_t device = 0;    // in the order in which they have been declared
  std::uint8_t declared = 0;  // 1: an intent, whatever the settings are
  std::uint8_t unused = 0;
  std::uint64_t identity = 0;
  std::uint64_t bytes = 0;
  turns::Ns duration = 0;
  turns::Ns sent_at = 0;      // of a turn that ends, what comes after is not used
  std::uint64_t divisor = 1;  // of the weight
  std::array<char, 64> name{};
};
static_assert(sizeof(BrokerRequest) == 112);

struct BrokerAnswer {
  std::uint32_t number = 0;  // 0: news
  std::uint8_t device = 0;
  std::uint8_t result = 0;  // of the call: 1: it has succeeded, or the answer is yes
  // How the device's turns are now.
  std::uint8_t takes_turns = 0;
  std::uint8_t has_joined = 0;
  std::uint8_t haste = 0;
  std::uint8_t pauses = 0;
  std::array<std::uint8_t, 2> unused{};
  std::uint64_t excess = 0;  // of `book` that is beyond the limit: how many bytes too many
  turns::Ns turn_began = 0;  // of `begin` and `yield`
  std::uint64_t waits = 0;
  std::array<char, 96> problem{};
};
static_assert(sizeof(BrokerAnswer) == 136);

inline constexpr unsigned kMostBrokeredDevices = 32;

// A text, cut to fit, with a final NUL.
template <std::size_t size>
void put_text(std::array<char, size>& to, std::string_view text) {
  to = {};
  std::copy_n(text.begin(), std::min(text.size(), size - 1), to.begin());
}
template <std::size_t size>
std::string text_in(const std::array<char, size>& from) {
  return {from.begin(), std::find(from.begin(), from.end(), '\0')};
}

}  // namespace cleave::interpose
