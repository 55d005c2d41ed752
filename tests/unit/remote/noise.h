// Data for transfers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cleave::remote::client {

inline constexpr std::size_t kMiB = std::size_t{1} << 20U;

// By words, and compared by memcmp(): under a sanitizer each access of the test's own code is expensive.
inline std::vector<std::byte> noise(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = seed;
  for (std::size_t at = 0; at < size; at += sizeof state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t word = state ^ (state >> 32U);  // the lowest bits of `state` repeat soon
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

inline bool are_same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace cleave::remote::client
