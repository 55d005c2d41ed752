// Kernels on a matrix: every element of the output is a sum over some of the input.
#include "bench/kernels/input.h"
#include "bench/kernels/work.h"

namespace kernels {
namespace {

std::size_t area(Grid global) { return global.x * global.y; }
std::size_t square(Grid global) { return global.x * global.x; }

// `in` is both factors.
constexpr const char* kProductSource = R"(
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

double product_at(Grid global, std::size_t index) {
  const std::size_t n = global.x;
  const std::size_t row = index / n;
  const std::size_t column = index % n;
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += double{float_at(row * n + k)} * double{float_at(k * n + column)};
  return sum;
}

constexpr const char* kStencilSource = R"(
kernel void work(global const float* in, global float* out, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1), i = y * n + x;
  size_t left = x > 0 ? i - 1 : i, right = x + 1 < n ? i + 1 : i, above = y > 0 ? i - n : i;
  out[i] = 0.25f * (in[left] + in[right] + in[above] + in[i]);
})";

double stencil_at(Grid global, std::size_t i) {
  const std::size_t x = i % global.x;
  const std::size_t left = x > 0 ? i - 1 : i;
  const std::size_t right = x + 1 < global.x ? i + 1 : i;
  const std::size_t above = i >= global.x ? i - global.x : i;
  return 0.25 *
         (double{float_at(left)} + double{float_at(right)} + double{float_at(above)} + double{float_at(i)});
}

}  // namespace

const Work kProduct = {.name = "tiled product",
                       .source = kProductSource,
                       .dims = 2,
                       .global = {5120, 5120},
                       .small = {384, 384},
                       .local = {16, 16},
                       .floats = true,
                       .in_words = square,
                       .out_words = area,
                       .expected = product_at,
                       .tolerance = 0};

const Work kLongProduct = {.name = "long product",
                           .source = kProductSource,
                           .dims = 2,
                           .global = {14336, 14336},
                           .small = {1024, 1024},
                           .local = {16, 16},
                           .floats = true,
                           .in_words = square,
                           .out_words = area,
                           .expected = product_at,
                           .tolerance = 0};

const Work kStencil = {.name = "stencil",
                       .source = kStencilSource,
                       .dims = 2,
                       .global = {65536, 65536},
                       .small = {1024, 1024},
                       .local = {256, 1},
                       .floats = true,
                       .in_words = area,
                       .out_words = area,
                       .expected = stencil_at,
                       .tolerance = 0};

}  // namespace kernels
