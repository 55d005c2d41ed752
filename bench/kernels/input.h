// The input of every kernel, as a formula that the device and the host compute alike.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernels {

// `kFill` writes the input: the words themselves, or as floats the eighths from -6/8 to 6/8, whose products
// and short sums are exact, so that a right result is the same to the last bit in whatever order it is added
// up.
inline constexpr const char* kFill = R"(
kernel void fill(global uint* in, uint floats, uint columns) {
  uint index = (uint)get_global_id(1) * columns + (uint)get_global_id(0);
  uint word = index * 2654435761u;
  word = (word ^ (word >> 15)) * 2246822519u;
  word ^= word >> 13;
  float eighths = (float)((int)((word >> 8) % 13u) - 6) * 0.125f;
  in[index] = floats ? as_uint(eighths) : word;
})";

inline std::uint32_t word_at(std::size_t index) {
  std::uint32_t word = static_cast<std::uint32_t>(index) * 2654435761U;
  word = (word ^ (word >> 15)) * 2246822519U;
  return word ^ (word >> 13);
}

inline float float_at(std::size_t index) {
  return static_cast<float>(static_cast<int>((word_at(index) >> 8) % 13) - 6) * 0.125F;
}

}  // namespace kernels
