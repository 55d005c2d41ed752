// Kernels whose work-groups add up values in local or global memory.
#include <array>

#include "bench/kernels/input.h"
#include "bench/kernels/work.h"

namespace kernels {
namespace {

constexpr std::size_t kGroup = 256;
constexpr std::size_t kEach = 16;  // elements of a work-item
constexpr std::size_t kBins = 256;

std::size_t items(Grid global) { return global.x; }
std::size_t elements(Grid global) { return global.x * kEach; }

constexpr const char* kReductionSource = R"(
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

double reduction_at(Grid global, std::size_t group) {
  std::uint32_t sum = 0;
  for (std::size_t i = group * kGroup * kEach; i < (group + 1) * kGroup * kEach; ++i) {
    std::uint32_t value = word_at(i) + static_cast<std::uint32_t>(global.x);
    for (int turn = 0; turn < 64; ++turn) value = value * 1664525U + (value >> 13);
    sum += value;
  }
  return sum;
}

constexpr const char* kScanSource = R"(
kernel void work(global const uint* in, global uint* out, uint n) {
  local uint sums[256];
  uint l = get_local_id(0);
  sums[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint reach = 1; reach < 256; reach *= 2) {
    uint before = l >= reach ? sums[l - reach] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[l] += before;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = sums[l];
})";

double scan_at(Grid, std::size_t index) {
  std::uint32_t sum = 0;
  for (std::size_t i = index / kGroup * kGroup; i <= index; ++i) sum += word_at(i);
  return sum;
}

constexpr const char* kHistogramSource = R"(
kernel void work(global const uint* in, global uint* out, uint n) {
  local uint bins[256];
  uint l = get_local_id(0);
  bins[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < 16; k++) atomic_inc(&bins[in[get_global_id(0) + (size_t)k * n] >> 24]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (bins[l] != 0) atomic_add(&out[l], bins[l]);
})";

double histogram_at(Grid global, std::size_t bin) {
  static std::array<std::uint32_t, kBins> bins;
  static std::size_t counted = 0;  // elements in `bins`
  if (counted != elements(global)) {
    bins = {};
    counted = elements(global);
    for (std::size_t i = 0; i < counted; ++i) ++bins.at(word_at(i) >> 24);
  }
  return bins.at(bin);
}

}  // namespace

const Work kReduction = {.name = "reduction",
                         .source = kReductionSource,
                         .dims = 1,
                         .global = {1 << 26, 1},
                         .small = {1 << 16, 1},
                         .local = {kGroup, 1},
                         .floats = false,
                         .in_words = elements,
                         .out_words = [](Grid global) { return global.x / kGroup; },
                         .expected = reduction_at,
                         .tolerance = 0};

const Work kScan = {.name = "scan",
                    .source = kScanSource,
                    .dims = 1,
                    .global = {1 << 28, 1},
                    .small = {1 << 20, 1},
                    .local = {kGroup, 1},
                    .floats = false,
                    .in_words = items,
                    .out_words = items,
                    .expected = scan_at,
                    .tolerance = 0};

const Work kHistogram = {.name = "histogram",
                         .source = kHistogramSource,
                         .dims = 1,
                         .global = {1 << 24, 1},
                         .small = {1 << 16, 1},
                         .local = {kGroup, 1},
                         .floats = false,
                         .in_words = elements,
                         .out_words = [](Grid) { return kBins; },
                         .expected = histogram_at,
                         .tolerance = 0};

}  // namespace kernels
