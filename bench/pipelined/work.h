// The kernels that are launched whole and in slices, and how large.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace pipelined {

struct Work {
  std::string_view name;
  const char* source;  // of a kernel "work" whose arguments are in, out and the width
  unsigned dims;
  std::size_t global[2];
  std::size_t small[2];  // for a try on a processor
  std::size_t local[2];
  std::size_t in_per_item;  // 4-byte elements
  std::size_t items_per_out;
};

// The paper's matrix product, tile by tile. `in` is both factors.
inline constexpr const char* kProduct = R"(
#define T 16
kernel void work(global const float* in, global float* out, uint n) {
  local float a[T][T], b[T][T];
  uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (uint t = 0; t < n; t += T) {
    a[y][x] = in[row * n + t + x];
    b[y][x] = in[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < T; k++) sum += a[y][k] * b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row * n + column] = sum;
})";

// Nothing but memory: five loads and a store.
inline constexpr const char* kStencil = R"(
kernel void work(global const float* in, global float* out, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1), i = y * n + x;
  size_t left = x > 0 ? i - 1 : i, right = x + 1 < n ? i + 1 : i, above = y > 0 ? i - n : i;
  out[i] = 0.25f * (in[left] + in[right] + in[above] + in[i]);
})";

// Nothing but arithmetic, of lengths that differ from item to item.
inline constexpr const char* kMandelbrot = R"(
kernel void work(global const uint* in, global uint* out, uint n) {
  uint column = get_global_id(0), row = get_global_id(1);
  float cx = column * (3.0f / n) - 2.2f, cy = row * (3.0f / n) - 1.5f, x = 0, y = 0;
  uint turns = 0;
  for (; turns < 4000 && x * x + y * y < 4; turns++) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
  }
  out[row * n + column] = turns + in[0];
})";

// A partial result by work-group, added up in local memory. It sees the cut, and is mended.
inline constexpr const char* kReduction = R"(
kernel void work(global const uint* in, global uint* out, uint n) {
  local uint sums[256];
  uint l = get_local_id(0);
  size_t first = (size_t)get_group_id(0) * 256 * 16 + l;
  uint sum = 0;
  for (uint k = 0; k < 16; k++) {
    uint value = in[first + k * 256] + n;
    for (uint turn = 0; turn < 64; turn++) value = value * 1664525u + (value >> 13);
    sum += value;
  }
  sums[l] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint rest = 128; rest > 0; rest /= 2) {
    if (l < rest) sums[l] += sums[l + rest];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[get_group_id(0)] = sums[0];
})";

inline constexpr std::size_t k64Mi = std::size_t{1} << 26;
inline constexpr std::array<Work, 4> kWorks = {{
    {"tiled product", kProduct, 2, {5120, 5120}, {768, 768}, {16, 16}, 1, 1},
    {"stencil", kStencil, 2, {65536, 65536}, {2048, 2048}, {256, 1}, 1, 1},
    {"Mandelbrot", kMandelbrot, 2, {8192, 8192}, {512, 512}, {16, 16}, 1, 1},
    {"reduction", kReduction, 1, {k64Mi, 1}, {k64Mi / 128, 1}, {256, 1}, 16, 256},
}};

}  // namespace pipelined
