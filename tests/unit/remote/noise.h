// Data for transfers.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace cleave::remote::client {

inline constexpr std::size_t kMiB = std::size_t{1} << 20U;

inline std::vector<std::byte> noise(std::size_t size, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random() >> 8U);
  return bytes;
}

}  // namespace cleave::remote::client
