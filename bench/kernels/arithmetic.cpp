// Kernels that compute much on little memory.
#include <cmath>

#include "bench/kernels/input.h"
#include "bench/kernels/work.h"

namespace kernels {
namespace {

constexpr const char* kBodiesSource = R"(
kernel void work(global const float4* in, global float* out, uint n) {
  float4 here = in[get_global_id(0)];
  float x = 0, y = 0, z = 0;
  for (uint j = 0; j < n; j++) {
    float4 there = in[j];
    float dx = there.x - here.x, dy = there.y - here.y, dz = there.z - here.z;
    float near = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
    float pull = (1 + there.w) * near * near * near;
    x += pull * dx;
    y += pull * dy;
    z += pull * dz;
  }
  out[get_global_id(0)] = (x + y + z) / n;
})";

double bodies_at(Grid global, std::size_t i) {
  double sum = 0;
  for (std::size_t j = 0; j < global.x; ++j) {
    double square = 0.01;
    double along = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double away = double{float_at(4 * j + axis)} - double{float_at(4 * i + axis)};
      square += away * away;
      along += away;
    }
    sum += (1 + double{float_at(4 * j + 3)}) * along / (square * std::sqrt(square));
  }
  return sum / static_cast<double>(global.x);
}

// With explicit rounding in each step it is the same on every device; n is a power of two, and the division exact.
constexpr const char* kMandelbrotSource = R"(
kernel void work(global const uint* in, global uint* out, uint n) {
  uint column = get_global_id(0), row = get_global_id(1);
  float cx = fma((float)column, 3.0f / n, -2.2f), cy = fma((float)row, 3.0f / n, -1.5f), x = 0, y = 0;
  uint turns = 0;
  for (; turns < n / 2 && fma(x, x, y * y) < 4.0f; turns++) {
    float next = fma(x, x, fma(-y, y, cx));
    y = fma(2.0f * x, y, cy);
    x = next;
  }
  out[row * n + column] = turns + in[0];
})";

double mandelbrot_at(Grid global, std::size_t index) {
  const float step = 3.0F / static_cast<float>(global.x);
  const float cx = std::fma(static_cast<float>(index % global.x), step, -2.2F);
  const float cy = std::fma(static_cast<float>(index / global.x), step, -1.5F);
  float x = 0;
  float y = 0;
  unsigned turns = 0;
  for (; turns < global.x / 2 && std::fma(x, x, y * y) < 4; ++turns) {
    const float next = std::fma(x, x, std::fma(-y, y, cx));
    y = std::fma(2 * x, y, cy);
    x = next;
  }
  return turns + word_at(0);
}

}  // namespace

const Work kBodies = {.name = "n-body",
                      .source = kBodiesSource,
                      .dims = 1,
                      .global = {1 << 17, 1},
                      .small = {1 << 12, 1},
                      .local = {64, 1},
                      .floats = true,
                      .in_words = [](Grid global) { return 4 * global.x; },
                      .out_words = [](Grid global) { return global.x; },
                      .expected = bodies_at,
                      .tolerance = 2e-3};  // single precision, and rsqrt is not exact

const Work kMandelbrot = {.name = "Mandelbrot",
                          .source = kMandelbrotSource,
                          .dims = 2,
                          .global = {8192, 8192},
                          .small = {256, 256},
                          .local = {16, 16},
                          .floats = false,
                          .in_words = [](Grid) { return std::size_t{256}; },
                          .out_words = [](Grid global) { return global.x * global.y; },
                          .expected = mandelbrot_at,
                          .tolerance = 0};

}  // namespace kernels
