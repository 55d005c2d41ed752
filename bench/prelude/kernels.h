// Kernels for timing unsplit launches: typical uses of the replaced functions, with literal dimensions.
#pragma once

#include <array>
#include <cstddef>

namespace cleave::bench {

struct Sample {
  const char* name;
  const char* source;  // kernel void run(global uint* out, global const uint* in, uint n)
  unsigned dims;
  std::array<std::size_t, 2> local;
  std::size_t items_per_element;  // the launch has n / this many work-items
};

inline constexpr std::array<Sample, 8> kSamples = {{
    {"grid stride",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = in[i] * 3 + 1;
})",
     1,
     {64, 1},
     16},
    {"partial sums",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  local uint sums[64];
  uint at = get_local_id(0);
  sums[at] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 32; step > 0; step /= 2) {
    if (at < step) sums[at] += sums[at + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (at == 0) out[get_group_id(0)] = sums[0];
})",
     1,
     {64, 1},
     1},
    {"loops and sums",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  local uint sums[64];
  uint l = get_local_id(0);
  uint value = in[get_group_id(0) * 64 + l];
  for (uint turn = 0; turn < 64; ++turn) value = value * 1664525u + (value >> 13);
  sums[l] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint rest = 32; rest > 0; rest /= 2) {
    if (l < rest) sums[l] += sums[l + rest];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[get_group_id(0)] = sums[0];
})",
     1,
     {64, 1},
     1},
    {"group tiles",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  size_t first = get_group_id(0) * get_local_size(0);
  size_t mirrored = (get_num_groups(0) - 1 - get_group_id(0)) * get_local_size(0);
  out[first + get_local_id(0)] = in[mirrored + get_local_id(0)];
})",
     1,
     {64, 1},
     1},
    {"reversed",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  out[get_global_size(0) - 1 - get_global_id(0)] = in[get_global_id(0)];
})",
     1,
     {64, 1},
     1},
    {"transpose",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  size_t x = get_global_id(0);
  size_t y = get_global_id(1);
  out[x * get_global_size(1) + y] = in[y * get_global_size(0) + x];
})",
     2,
     {16, 16},
     1},
    {"stencil",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  size_t x = get_global_id(0);
  size_t y = get_global_id(1);
  size_t width = get_global_size(0);
  size_t height = get_global_size(1);
  size_t left = x > 0 ? x - 1 : 0, right = x + 1 < width ? x + 1 : x;
  size_t above = y > 0 ? y - 1 : 0, below = y + 1 < height ? y + 1 : y;
  out[y * width + x] = in[y * width + left] + in[y * width + right] + in[above * width + x] + in[below * width + x];
})",
     2,
     {16, 16},
     1},
    {"tiled product",
     R"(
kernel void run(global uint* out, global const uint* in, uint n) {
  local float a[16][16], b[16][16];
  size_t x = get_local_id(0), y = get_local_id(1);
  size_t row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
  size_t width = get_num_groups(0) * 16;
  float sum = 0;
  for (size_t tile = 0; tile < 16; ++tile) {
    a[y][x] = in[row * width + (tile * 16 + x) % width];
    b[y][x] = in[(tile * 16 + y) % width * width + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row * width + column] = (uint)sum;
})",
     2,
     {16, 16},
     1},
}};

}  // namespace cleave::bench
