// Which blocks of payload are worth compressing, on one connection and in one direction: those that reach the peer earlier so,
// the time for compressing and decompressing included. Decided by what the link carries (link_measure.h), and by how well and
// how fast the connection's data has been compressed lately.
//
// A link that was never busy may carry more than was measured. So of a long payload on such a link stretches go uncompressed,
// from which the link's rate is learnt. Data that cannot be compressed is tried more and more rarely.
//
// Pure: no clock, no system calls. Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "remote/transport/link_measure.h"

namespace cleave::remote {

// Bytes of a block; smaller ones are not worth a thought.
inline constexpr std::uint64_t kMinCompressed = 256;

enum class Coding : std::uint8_t { raw, fast, dense };

class CompressionChoice {
 public:
  using Seconds = std::chrono::duration<double>;

  // For a block of `size` bytes, `at` bytes behind the beginning of its frame's payload.
  Coding choose(std::uint64_t size, std::uint64_t at, const LinkMeasure& link);

  // A block of `size` bytes has become `compressed` bytes within `time`. Returns whether it should be sent so.
  bool note(Coding coding, std::uint64_t size, std::uint64_t compressed, Seconds time);

 private:
  double share_ = 0.5;                         // of the size that is left
  std::array<double, 2> speed_{300e6, 150e6};  // bytes per second, fast and dense
  unsigned failures_ = 0;                      // in a row
  std::uint64_t skipped_ = 0;                  // blocks that are yet to go untried
};

}  // namespace cleave::remote
