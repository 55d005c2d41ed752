// The meaning of an input: which program runs, and where and how the server deviates from correct answers.
//
//   byte 0   the program in bits 0 to 2; kWelcome, kLate
//   byte 1   the features that the server offers; bit 5 stands for `kept_shared` and `judgements`
//   then deviations, one after the other, each server's in this order:
//   0  u8    so many commands with an answer are answered correctly before
//   1  u8    the kind in bits 0 to 2; the frame's kind in bits 6 and 7; kWithCommandIds, kOnSecondServer
//   2  u16   size of the bytes that follow
//   4  u16   size of the payload, which is generated
//   6        the bytes
//
// An input without deviations is a correct server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cleave::fuzz::answers {

inline constexpr std::uint8_t kPrograms = 7;        // bits
inline constexpr std::uint8_t kWelcome = 1U << 3U;  // the first server's first fault is about its Welcome
inline constexpr std::uint8_t kLate = 1U << 4U;     // what was not answered is, once the client waits for it

inline constexpr std::uint8_t kHighFeatures = 1U << 5U;

inline constexpr std::uint8_t kWithCommandIds = 1U
                                                << 3U;  // numbers and ids in it are made those of the command
inline constexpr std::uint8_t kOnSecondServer = 1U << 4U;  // the second server does it

struct Fault {
  enum class Kind : std::uint8_t {
    insert,    // a frame of these bytes, and the answer
    replace,   // a frame of these bytes, and no answer
    edit,      // the answer with changes: a place (u16) and a byte each; its payload is so much larger (i16)
    withhold,  // nothing
    raw,       // these bytes, which are no frame
    leave,     // the end of the connection
    twice,     // the answer, twice
    overwrite_shared_memory  // the first of these bytes all over the shared memory, and the answer
  };
  unsigned after = 0;
  Kind kind{};
  bool patched = false;
  unsigned frame = 0;  // of Events, a Welcome, Commands; 3: the header promises a byte more
  std::vector<std::uint8_t> bytes;
  std::uint16_t payload = 0;
};

struct Script {
  static constexpr std::size_t kServers = 2;

  unsigned program = 0;
  bool welcome = false;
  bool late = false;
  std::uint64_t features = 0;
  std::array<std::vector<Fault>, kServers> faults;

  [[nodiscard]] bool is_good() const { return faults[0].empty() && faults[1].empty(); }
};

Script read_script(std::span<const std::uint8_t> input);

}  // namespace cleave::fuzz::answers
