// Kernels that compute nothing.
#include <algorithm>

#include "bench/kernels/input.h"
#include "bench/kernels/work.h"

namespace kernels {
namespace {

constexpr std::size_t kDistance = 1024;

// A work-item sorts two elements, 1024 apart; every other block of 4096 in descending order.
constexpr const char* kSortStepSource = R"(
kernel void work(global const uint* in, global uint* out, uint n) {
  size_t i = get_global_id(0), low = i / 1024 * 2048 + i % 1024, high = low + 1024;
  uint a = in[low], b = in[high];
  int up = (low >> 12 & 1) == 0;
  out[low] = up ? min(a, b) : max(a, b);
  out[high] = up ? max(a, b) : min(a, b);
})";

double sort_step_at(Grid, std::size_t index) {
  const bool is_low = index / kDistance % 2 == 0;
  const std::size_t low = is_low ? index : index - kDistance;
  const bool up = (low >> 12 & 1) == 0;
  const std::uint32_t a = word_at(low);
  const std::uint32_t b = word_at(low + kDistance);
  return is_low == up ? std::min(a, b) : std::max(a, b);
}

std::size_t pairs(Grid global) { return 2 * global.x; }

}  // namespace

const Work kSortStep = {.name = "sort step",
                        .source = kSortStepSource,
                        .dims = 1,
                        .global = {1 << 27, 1},
                        .small = {1 << 20, 1},
                        .local = {256, 1},
                        .floats = false,
                        .in_words = pairs,
                        .out_words = pairs,
                        .expected = sort_step_at,
                        .tolerance = 0};

const Work kEmpty = {.name = "empty",
                     .source = "kernel void work(global const uint* in, global uint* out, uint n) {}",
                     .dims = 1,
                     .global = {1 << 20, 1},
                     .small = {1 << 16, 1},
                     .local = {256, 1},
                     .floats = false,
                     .in_words = [](Grid) { return std::size_t{256}; },
                     .out_words = [](Grid) { return std::size_t{256}; },
                     .expected = [](Grid, std::size_t) { return 0.0; },
                     .tolerance = 0};

}  // namespace kernels
