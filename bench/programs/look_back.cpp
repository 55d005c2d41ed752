// A prefix sum in one launch, with decoupled look-back: each work-group adds up its tile, publishes the sum, and then waits for
// the sums of the groups before it. Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016).
// A splitter must not reorder its slices: if a slice runs before an earlier one has run, its groups wait for ever. It does not
// depend on Cleave.
//
//   look_back [N] [REPEATS] [--platform SUBSTRING]
//
// It runs in two variants: with tiles by work-group id, which relies on devices starting groups in that order, and with tiles
// drawn from a counter, which does not. Prints a line with a checksum for each. The exit status is 0 only if every sum is right.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/programs/plain_program.h"

namespace {

constexpr std::size_t group = 64;

// Sums are kept to 30 bits, so that a word holds one with its tile's state and both are published at once:
// 0 before the sum is known, 1 with the sum of the tile, 2 with that of all tiles up to it.
constexpr std::uint32_t mask = 0x3fffffff;
constexpr const char* source = R"(
#define MASK 0x3fffffffu
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scan(__global const uint* in, __global uint* out, __global volatile uint* words,
          __global volatile uint* counter, uint n) {
  __local uint values[64];
  __local uint drawn;
  __local uint before;
  uint l = get_local_id(0);
  if (l == 0) drawn = TILE;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint tile = drawn;
  uint i = tile * 64 + l;
  values[l] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < 64; distance *= 2) {
    uint other = l >= distance ? values[l - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    values[l] += other;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) {
    uint sum = 0;
    atomic_xchg(&words[tile], 1u << 30 | (values[63] & MASK));
    uint at = tile;
    while (at > 0) {
      uint word = atomic_or(&words[at - 1], 0u);
      if (word >> 30 != 0) sum += word & MASK;
      at = word >> 30 == 2 ? 0 : at - (word >> 30);
    }
    atomic_xchg(&words[tile], 2u << 30 | ((sum + values[63]) & MASK));
    before = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) out[i] = (before + values[l]) & MASK;
}
)";

struct Options {
  std::size_t n = 100'003;
  std::size_t repeats = 3;
  std::string platform;
};

Options read_options(int count, char** arguments) {
  Options options;
  kit::CommandLine line;
  line.value("--platform", options.platform);
  read_numbers(line.read(count, arguments), {&options.n, &options.repeats});
  return options;
}

// The device, and the objects that all launches share.
class Scan {
 public:
  Scan(const Options& options, const std::vector<std::uint32_t>& values)
      : n_(values.size()),
        groups_((n_ + group - 1) / group),
        repeats_(options.repeats),
        device_(choose_device(options.platform)),
        in_(cl.buffer(context_, values, CL_MEM_READ_ONLY)) {}

  // Prefix sums with `tile` as the expression for a group's tile.
  std::vector<std::uint32_t> run(const char* tile) {
    const kit::Program program = cl.build(context_, source, (std::string("-DTILE=") + tile).c_str());
    const kit::Kernel kernel =
        cl.kernel(program, "scan", in_, out_, words_, counter_, static_cast<cl_uint>(n_));
    for (std::size_t i = 0; i < repeats_; ++i) {
      cl.check("clEnqueueFillBuffer", cl.fill(queue_, words_, cl_uint{0}, groups_));
      cl.check("clEnqueueFillBuffer", cl.fill(queue_, counter_, cl_uint{0}, 1));
      cl.check("clEnqueueNDRangeKernel", cl.launch(queue_, kernel, {groups_ * group, group}));
    }
    return cl.read<std::uint32_t>(queue_, out_, n_);
  }

 private:
  [[nodiscard]] kit::Buffer make_buffer(std::size_t count) const {
    return cl.buffer(context_, count * sizeof(cl_uint));
  }

  std::size_t n_;
  std::size_t groups_;
  std::size_t repeats_;
  cl_device_id device_;
  kit::Context context_ = cl.context(device_);
  kit::Queue queue_ = cl.queue(context_, device_);
  kit::Buffer in_;
  kit::Buffer out_ = make_buffer(n_);
  kit::Buffer words_ = make_buffer(groups_);
  kit::Buffer counter_ = make_buffer(1);
};

int run(const Options& options) {
  std::vector<std::uint32_t> values(options.n);
  std::vector<std::uint32_t> expected(options.n);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint32_t>(i) * 2654435761U >> 20U;
    expected[i] = sum = (sum + values[i]) & mask;
  }
  Scan scan(options, values);
  for (const auto& [name, tile] :
       {std::pair("by group id", "get_group_id(0)"), std::pair("by counter", "atomic_inc(counter)")}) {
    const std::vector<std::uint32_t> sums = scan.run(tile);
    if (sums != expected) {
      std::fprintf(stderr, "look_back: wrong sums, tiles %s\n", name);
      return 1;
    }
    std::printf("tiles %s: %zu right sums, the last is %08x\n", name, sums.size(), sums.back());
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(read_options(count, arguments));
  } catch (const std::logic_error&) {
    std::fputs("usage: look_back [N] [REPEATS] [--platform SUBSTRING]\n", stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "look_back: %s\n", failure.what());
  }
  return 2;
}
