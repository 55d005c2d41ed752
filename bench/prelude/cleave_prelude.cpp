// The cost of the prelude for a program whose launches are not split: each kernel is built unchanged and with the prelude, and
// the two are launched in turn.
//
//   cleave_prelude [PLATFORM-SUBSTRING] [REPEATS]
//
// Launches are made large enough to run 200 µs or more. Prints for each kernel the medians from enqueue to
// the end of clFinish, their ratio, whether the results are the same, and the largest work-group of both. The
// exit status is 0 only if all results are the same.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/prelude/kernels.h"
#include "kernels/prelude/prelude.h"
#include "tests/kit/failures.h"
#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace cleave::bench {
namespace {

constexpr double kLongEnough = 200;  // µs
constexpr std::size_t kFewest = std::size_t{1} << 16U;
constexpr std::size_t kMax = std::size_t{1} << 26U;

const kit::Api cl(kit::linked_table(), kit::throw_error);

cl_device_id find_device(const std::string& wanted) {
  const cl_device_id device = cl.device_of(wanted);
  if (device == nullptr) throw std::runtime_error("no device on a platform named like that");
  const auto platform = cl.info<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  std::printf("%s\n", cl.text(platform, CL_PLATFORM_NAME).c_str());
  return device;
}

std::vector<cl_uint> input() {
  std::vector<cl_uint> data(kMax);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<cl_uint>(i * 2654435761U >> 20U);
  return data;
}

// The device with memory for the largest launch.
struct Device {
  cl_device_id id;
  kit::Context context = cl.context(id);
  kit::Queue queue = cl.queue(context, id);
  kit::Buffer in = cl.buffer(context, input());
  kit::Buffer out = cl.buffer(context, kMax * sizeof(cl_uint));
};

class Built {
 public:
  Built(const Device& device, const Sample& sample, bool prelude)
      : device_(device),
        sample_(sample),
        program_(cl.build(device.context, std::string(prelude ? kernels::prelude() : "") + sample.source,
                          std::string(prelude ? kernels::kPreludeOption : "").c_str())),
        kernel_(cl.kernel(program_, "run", device.out, device.in)) {}

  // Microseconds from the enqueue to the end.
  double run(std::size_t n) const {
    const auto items = n / sample_.items_per_element;
    const auto side = static_cast<std::size_t>(std::sqrt(items)) / 16 * 16;
    const kit::Range range = sample_.dims == 1
                                 ? kit::Range(items, sample_.local[0])
                                 : kit::Range({side, side}, {sample_.local[0], sample_.local[1]});
    cl.check("clSetKernelArg", cl.set_argument(kernel_, 2, static_cast<cl_uint>(n)));
    return kit::duration_of<std::micro>([&] {
      cl.check("clEnqueueNDRangeKernel", cl.launch(device_.queue, kernel_, range));
      cl.check("clFinish", cl.clFinish(device_.queue));
    });
  }

  std::vector<cl_uint> result(std::size_t n) const {
    cl.check("clEnqueueFillBuffer", cl.fill(device_.queue, device_.out, cl_uint{0}, n));
    run(n);
    return cl.read<cl_uint>(device_.queue, device_.out, n);
  }

  std::size_t largest_group() const {
    std::size_t size = 0;
    cl.check("clGetKernelWorkGroupInfo",
             cl.clGetKernelWorkGroupInfo(kernel_, device_.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof size, &size,
                                         nullptr));
    return size;
  }

 private:
  const Device& device_;
  const Sample& sample_;
  kit::Program program_;
  kit::Kernel kernel_;
};

// Prints one line; says whether the results are the same.
bool compare(const Device& device, const Sample& sample, std::size_t repeats) {
  const Built plain(device, sample, false);
  const Built prelude(device, sample, true);
  std::size_t n = kFewest;
  for (plain.run(n), prelude.run(n); n < kMax && plain.run(n) < kLongEnough;) n *= 2;
  const bool same = plain.result(n) == prelude.result(n);
  std::vector<double> plain_times;
  std::vector<double> prelude_times;
  for (std::size_t i = 0; i < repeats; ++i) {
    plain_times.push_back(plain.run(n));
    prelude_times.push_back(prelude.run(n));
  }
  std::printf("%-14s %9zu %10.1f %10.1f %8.3f   %-5s %5zu %5zu\n", sample.name, n, kit::median(plain_times),
              kit::median(prelude_times), kit::median(prelude_times) / kit::median(plain_times),
              same ? "yes" : "NO", plain.largest_group(), prelude.largest_group());
  return same;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) try {
  using namespace cleave::bench;
  const Device device{find_device(argc > 1 ? argv[1] : "")};
  const std::size_t repeats = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 101;
  std::printf("%-14s %9s %10s %10s %8s   %-5s %s\n", "kernel", "elements", "plain us", "prelude us", "ratio",
              "same", "largest groups");
  bool same = true;
  for (const Sample& sample : kSamples) same &= compare(device, sample, std::max<std::size_t>(1, repeats));
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cleave_prelude: %s\n", error.what());
  return EXIT_FAILURE;
}
