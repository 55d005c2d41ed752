// A prefix sum in one launch, with decoupled look-back: each work-group adds up its tile, publishes the sum, and then waits for
// the sums of the groups before it. Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016).
// A splitter must not reorder its slices: if a slice runs before an earlier one has run, its groups wait for ever. It does not
// depend on Cleave.
//
//   look_back [N] [REPEATS] [--platform SUBSTRING]
//
// It runs in two variants: with tiles by work-group id, which relies on devices starting groups in that order, and with tiles
// drawn from a counter, which does not. Prints a line with a checksum for each. The exit status is 0 only if every sum is right.
#include <CL/cl.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

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

void check(cl_int error, const char* function) {
  if (error != CL_SUCCESS)
    throw std::runtime_error(std::string(function) + ": error " + std::to_string(error));
}

// An OpenCL object that is released at the end of its scope.
template <auto release>
struct Release {
  template <typename Object>
  void operator()(Object* object) const {
    release(object);
  }
};
template <typename Handle, auto release>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release<release>>;

using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Program = Owned<cl_program, clReleaseProgram>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Buffer = Owned<cl_mem, clReleaseMemObject>;

struct Options {
  std::size_t n = 100'003;
  std::size_t repeats = 3;
  std::string platform;
};

std::size_t number(const std::string& text) {
  std::size_t end = 0;
  const unsigned long value = std::stoul(text, &end);
  if (end != text.size() || value == 0) throw std::invalid_argument(text);
  return value;
}

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::size_t*> numbers = {&options.repeats, &options.n};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--platform") {
      options.platform = arguments.at(++i);
    } else if (!numbers.empty()) {
      *numbers.back() = number(arguments[i]);
      numbers.pop_back();
    } else {
      throw std::invalid_argument(arguments[i]);
    }
  }
  return options;
}

cl_device_id choose_device(const std::string& wanted) {
  cl_uint count = 0;
  check(clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    std::string name(256, '\0');
    check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, name.size(), name.data(), nullptr),
          "clGetPlatformInfo");
    cl_device_id device = nullptr;
    if (name.find(wanted) != std::string::npos &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS)
      return device;
  }
  throw std::runtime_error("no such device");
}

// The device, and the objects that all launches share.
class Scan {
 public:
  Scan(const Options& options, cl_device_id device, std::vector<std::uint32_t>& values)
      : n_(values.size()), groups_((n_ + group - 1) / group), device_(device) {
    cl_int error = CL_SUCCESS;
    context_.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error));
    check(error, "clCreateContext");
    queue_.reset(clCreateCommandQueue(context_.get(), device, 0, &error));
    check(error, "clCreateCommandQueue");
    in_ = make_buffer(n_, values.data());
    out_ = make_buffer(n_, nullptr);
    words_ = make_buffer(groups_, nullptr);
    counter_ = make_buffer(1, nullptr);
    repeats_ = options.repeats;
  }

  // Prefix sums with `tile` as the expression for a group's tile.
  std::vector<std::uint32_t> run(const char* tile) {
    const Program program = build(tile);
    cl_int error = CL_SUCCESS;
    const Kernel kernel(clCreateKernel(program.get(), "scan", &error));
    check(error, "clCreateKernel");
    const cl_mem buffers[] = {in_.get(), out_.get(), words_.get(), counter_.get()};
    for (cl_uint i = 0; i < 4; ++i)
      check(clSetKernelArg(kernel.get(), i, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
    const auto n = static_cast<cl_uint>(n_);
    check(clSetKernelArg(kernel.get(), 4, sizeof n, &n), "clSetKernelArg");
    const std::size_t global = groups_ * group;
    for (std::size_t i = 0; i < repeats_; ++i) {
      clear();
      check(clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 1, nullptr, &global, &group, 0, nullptr,
                                   nullptr),
            "clEnqueueNDRangeKernel");
    }
    std::vector<std::uint32_t> sums(n_);
    check(clEnqueueReadBuffer(queue_.get(), out_.get(), CL_TRUE, 0, n_ * sizeof n, sums.data(), 0, nullptr,
                              nullptr),
          "clEnqueueReadBuffer");
    return sums;
  }

 private:
  Buffer make_buffer(std::size_t count, std::uint32_t* values) {
    cl_int error = CL_SUCCESS;
    Buffer buffer(clCreateBuffer(context_.get(), values != nullptr ? CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE,
                                 count * sizeof(cl_uint), values, &error));
    check(error, "clCreateBuffer");
    return buffer;
  }

  Program build(const char* tile) {
    cl_int error = CL_SUCCESS;
    const char* text = source;
    Program program(clCreateProgramWithSource(context_.get(), 1, &text, nullptr, &error));
    check(error, "clCreateProgramWithSource");
    const std::string options = std::string("-DTILE=") + tile;
    check(clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr), "clBuildProgram");
    return program;
  }

  void clear() {
    fill(words_, groups_);
    fill(counter_, 1);
  }

  void fill(const Buffer& buffer, std::size_t count) {
    const cl_uint zero = 0;
    check(clEnqueueFillBuffer(queue_.get(), buffer.get(), &zero, sizeof zero, 0, count * sizeof zero, 0,
                              nullptr, nullptr),
          "clEnqueueFillBuffer");
  }

  std::size_t n_;
  std::size_t groups_;
  std::size_t repeats_ = 1;
  cl_device_id device_;
  Context context_;
  Queue queue_;
  Buffer in_;
  Buffer out_;
  Buffer words_;
  Buffer counter_;
};

int run(const Options& options) {
  std::vector<std::uint32_t> values(options.n);
  std::vector<std::uint32_t> expected(options.n);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint32_t>(i) * 2654435761U >> 20U;
    expected[i] = sum = (sum + values[i]) & mask;
  }
  Scan scan(options, choose_device(options.platform), values);
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
    return run(read_options({arguments + 1, arguments + count}));
  } catch (const std::logic_error&) {
    std::fputs("usage: look_back [N] [REPEATS] [--platform SUBSTRING]\n", stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "look_back: %s\n", failure.what());
  }
  return 2;
}
