// The product C = A x B of two N x N matrices on an OpenCL device: the job that Cleave was made for, as plain OpenCL. It does
// not depend on Cleave.
//
//   matmul [N] [REPEATS] [--platform SUBSTRING] [--type cpu|gpu|accelerator|all] [--output FILE]
//
// Prints one line: the median time from the enqueue to the end of clFinish, the speed, and a checksum of the
// result. The exit status is 0 only if a sample of the result, computed again on the host, is the same.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/programs/plain_program.h"
#include "tests/kit/timing.h"

namespace {

constexpr std::size_t tile = 16;

// A work-group computes one tile of C from a row of tiles of A and a column of tiles of B, of which it keeps two in local
// memory. Tiles at the edge are padded with zeros, so that N may have any value.
constexpr const char* source = R"(
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void multiply(__global const float* a, __global const float* b, __global float* c, uint n) {
  __local float a_tile[16][16];
  __local float b_tile[16][16];
  uint column = get_global_id(0);
  uint row = get_global_id(1);
  uint x = get_local_id(0);
  uint y = get_local_id(1);
  float sum = 0.0f;
  for (uint start = 0; start < n; start += 16) {
    a_tile[y][x] = row < n && start + x < n ? a[(size_t)row * n + start + x] : 0.0f;
    b_tile[y][x] = column < n && start + y < n ? b[(size_t)(start + y) * n + column] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; ++k) sum += a_tile[y][k] * b_tile[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < n && column < n) c[(size_t)row * n + column] = sum;
}
)";

struct Options {
  std::size_t n = 1024;
  std::size_t repeats = 3;
  std::string platform;
  cl_device_type type = CL_DEVICE_TYPE_ALL;
  std::string output;
};

cl_device_type device_type(const std::string& name) {
  if (name == "cpu") return CL_DEVICE_TYPE_CPU;
  if (name == "gpu") return CL_DEVICE_TYPE_GPU;
  if (name == "accelerator") return CL_DEVICE_TYPE_ACCELERATOR;
  if (name == "all") return CL_DEVICE_TYPE_ALL;
  throw std::invalid_argument(name);
}

Options read_options(int count, char** arguments) {
  Options options;
  kit::CommandLine line;
  line.value("--platform", options.platform).value("--output", options.output);
  line.option("--type", [&](const std::string& name) { options.type = device_type(name); });
  read_numbers(line.read(count, arguments), {&options.n, &options.repeats});
  return options;
}

// Eighths from -6/8 to 6/8. Sums of their products are exact in a float in any order, so that every correct result is the same
// to the last bit.
std::vector<float> make_matrix(std::size_t n, std::uint32_t seed) {
  std::vector<float> matrix(n * n);
  std::uint32_t state = seed;
  for (float& element : matrix) {
    state = state * 1664525 + 1013904223;
    element = static_cast<float>(static_cast<int>((state >> 16) % 13) - 6) / 8;
  }
  return matrix;
}

bool sample_is_right(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c,
                     std::size_t n) {
  // The last element and others spread over all rows and columns.
  constexpr std::size_t samples = 256;
  for (std::size_t i = 1; i <= samples; ++i) {
    const std::size_t row = (n * i - 1) / samples;
    const std::size_t column = (row * 31 + n - 1 + (samples - i) * 17) % n;
    float sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    if (c[row * n + column] == sum) continue;
    std::fprintf(stderr, "matmul: C[%zu][%zu] is %g, not %g\n", row, column, c[row * n + column], sum);
    return false;
  }
  return true;
}

// FNV-1a of the result's bytes.
std::uint64_t checksum(const std::vector<float>& matrix) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(matrix.data());
  std::uint64_t hash = 14695981039346656037U;
  for (std::size_t i = 0; i < matrix.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 1099511628211U;
  return hash;
}

// Multiplies `options.repeats` times after one to warm up; gives the median time, in seconds from the enqueue to the end of
// clFinish.
double multiply(const Options& options, const std::vector<float>& a, const std::vector<float>& b,
                std::vector<float>& c) {
  const cl_device_id device = choose_device(options.platform, options.type);
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  const kit::Buffer on_device[] = {cl.buffer(context, a, CL_MEM_READ_ONLY),
                                   cl.buffer(context, b, CL_MEM_READ_ONLY),
                                   cl.buffer(context, c, CL_MEM_WRITE_ONLY)};
  const kit::Program program = cl.build(context, source);
  const kit::Kernel kernel = cl.kernel(program, "multiply", on_device[0], on_device[1], on_device[2],
                                       static_cast<cl_uint>(options.n));
  const std::size_t rounded = (options.n + tile - 1) / tile * tile;
  const auto run_once = [&] {
    cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {{rounded, rounded}, {tile, tile}}));
    cl.check("clFinish", cl.clFinish(queue));
  };
  run_once();
  std::vector<double> times(options.repeats);
  for (double& time : times) time = kit::duration_of(run_once);
  c = cl.read<float>(queue, on_device[2], c.size());
  return kit::median(times);
}

int run(const Options& options) {
  const std::size_t n = options.n;
  const std::vector<float> a = make_matrix(n, 1);
  const std::vector<float> b = make_matrix(n, 2);
  std::vector<float> c(n * n);
  const double seconds = multiply(options, a, b, c);
  if (!sample_is_right(a, b, c, n)) return 1;
  if (!options.output.empty()) {
    std::ofstream file(options.output, std::ios::binary);
    file.write(reinterpret_cast<const char*>(c.data()),
               static_cast<std::streamsize>(c.size() * sizeof(float)));
    if (!file.flush()) throw std::runtime_error("cannot write " + options.output);
  }
  const double operations = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  std::printf("seconds=%.6f gflops=%.3f checksum=%016llx\n", seconds, operations / seconds / 1e9,
              static_cast<unsigned long long>(checksum(c)));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(read_options(count, arguments));
  } catch (const std::logic_error&) {
    std::fputs(
        "usage: matmul [N] [REPEATS] [--platform SUBSTRING] [--type cpu|gpu|accelerator|all] [--output "
        "FILE]\n",
        stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "matmul: %s\n", failure.what());
  }
  return 2;
}
