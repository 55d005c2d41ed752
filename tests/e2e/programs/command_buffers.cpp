// Command buffers (cl_khr_command_buffer), where the device has them, between and behind ordinary launches. Prints what the
// kernels have computed; where they are not offered, that they are not, and that none of their functions is there.
#define CL_ENABLE_BETA_EXTENSIONS
#include <cstring>
#include <string>

#include "plain_program.h"

namespace {

constexpr std::size_t kItems = 4096;
constexpr std::size_t kGroup = 64;
constexpr int kRuns = 3;

// Values of the whole launch, which slices have to be told.
const char* const kSource =
    "kernel void advance(global uint* data, uint add) {"
    "  size_t i = get_global_id(0);"
    "  data[i] = data[i] * 3 + add + get_num_groups(0) + get_group_id(0) + get_global_size(0); }"
    "kernel void fill(global uint* data, uint value) { data[get_global_id(0)] = value; }";

struct Functions {
  explicit Functions(cl_platform_id platform) {
    const auto get = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          cl.clGetExtensionFunctionAddressForPlatform(platform, name));
      found += function != nullptr ? 1 : 0;
    };
    get(create, "clCreateCommandBufferKHR");
    get(finalize, "clFinalizeCommandBufferKHR");
    get(release, "clReleaseCommandBufferKHR");
    get(enqueue, "clEnqueueCommandBufferKHR");
    get(launch, "clCommandNDRangeKernelKHR");
    get(info, "clGetCommandBufferInfoKHR");
  }

  clCreateCommandBufferKHR_fn create = nullptr;
  clFinalizeCommandBufferKHR_fn finalize = nullptr;
  clReleaseCommandBufferKHR_fn release = nullptr;
  clEnqueueCommandBufferKHR_fn enqueue = nullptr;
  clCommandNDRangeKernelKHR_fn launch = nullptr;
  clGetCommandBufferInfoKHR_fn info = nullptr;
  int found = 0;
};

// Each word of the list by itself: one name is the beginning of others.
bool offers(const std::string& extensions, const std::string& name) {
  return (" " + extensions + " ").find(" " + name + " ") != std::string::npos;
}

struct Commands {
  explicit Commands(cl_device_id its_device) : device(its_device) {}

  const cl_device_id device;
  kit::Context context = cl.context(device);
  kit::Queue queue = cl.queue(context, device);
  kit::Buffer data = cl.buffer(context, std::vector<cl_uint>(kItems, 1));
  kit::Program program = cl.build(context, kSource);
  kit::Kernel recorded = cl.kernel(program, "advance", data, cl_uint{5});
  kit::Kernel launched = cl.kernel(program, "advance", data, cl_uint{9});
  kit::Kernel filling = cl.kernel(program, "fill", data, cl_uint{7});

  void launch() { check(cl.launch(queue, launched, {kItems, kGroup})); }

  // A fill of the first half, and a launch that sees it. Launches alone: other commands have a parameter more since version 0.9.5
  // of the extension.
  cl_command_buffer_khr record(const Functions& functions) {
    cl_int error = CL_SUCCESS;
    cl_command_queue on = queue;
    const cl_command_buffer_khr buffer = functions.create(1, &on, nullptr, &error);
    check(error);
    constexpr std::size_t kHalf = kItems / 2;
    cl_sync_point_khr filled = 0;
    check(functions.launch(buffer, nullptr, nullptr, filling, 1, nullptr, &kHalf, &kGroup, 0, nullptr,
                           &filled, nullptr));
    check(functions.launch(buffer, nullptr, nullptr, recorded, 1, nullptr, &kItems, &kGroup, 1, &filled,
                           nullptr, nullptr));
    check(functions.finalize(buffer));
    return buffer;
  }

  void print(const char* what) {
    const std::vector<cl_uint> values = cl.read<cl_uint>(queue, data, kItems);
    std::printf("%s: %u %u %u, all %u\n", what, values.front(), values[kItems / 2], values.back(),
                checksum(values));
  }

  void run(const Functions& functions) {
    const cl_command_buffer_khr buffer = record(functions);
    cl_command_buffer_state_khr state = 0;
    check(functions.info(buffer, CL_COMMAND_BUFFER_STATE_KHR, sizeof state, &state, nullptr));
    std::printf("state: %u\n", state);
    // What is set now is not what was recorded.
    check(cl.set_argument(recorded, 1, cl_uint{1000}));
    for (int i = 0; i < kRuns; ++i) {
      launch();
      kit::Event event = cl.event();
      check(functions.enqueue(0, nullptr, buffer, 0, nullptr, event.out()));
      check(cl.wait({event}));
      launch();
      print("launch, buffer, launch");
    }
    check(functions.release(buffer));
    std::printf("released once more: %d\n", functions.enqueue(0, nullptr, nullptr, 0, nullptr, nullptr));
  }
};

}  // namespace

int main() {
  const cl_device_id device = cl.device_of();
  const auto platform = cl.info<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  const bool offered = offers(cl.text(device, CL_DEVICE_EXTENSIONS), "cl_khr_command_buffer");
  const Functions functions(platform);
  std::printf("offered: %s, functions: %d of 6\n", offered ? "yes" : "no", functions.found);
  Commands commands(device);
  commands.launch();
  commands.print("launch");
  if (offered) commands.run(functions);
  return 0;
}
