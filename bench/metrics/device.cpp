#include "bench/metrics/device.h"

#include <algorithm>
#include <utility>

namespace metrics {
namespace {

constexpr std::size_t kLocal = 256;
constexpr std::size_t kGroupsOfUnit = 4;  // at most
constexpr std::size_t kMostItems = std::size_t{512} * 512;
constexpr cl_uint kChecked = 100;  // steps

constexpr const char* kSource = R"(
kernel void nothing() {}
kernel void scale(global float* data, uint n) {
  uint i = get_global_id(0);
  if (i < n) data[i] = 2 * data[i] + 1;
}
kernel void steady(global float* out, uint steps) {
  uint item = get_global_id(0);
  float v = 0.001f * item;
  for (uint i = 0; i < steps; ++i) {
    v = native_sin(v) * native_cos(v) + native_sqrt(fabs(v) + 1);
    v = native_exp(-0.001f * fabs(v));
  }
  out[item] = v;
})";

}  // namespace

cl_device_id find_device(const std::string& platform) {
  const cl_device_id gpu = cl.device_of(platform, CL_DEVICE_TYPE_GPU);
  return gpu != nullptr ? gpu : choose_device(platform);
}

Device::Device(const Options& options, cl_command_queue_properties properties)
    : options_(options),
      id_(find_device(options.platform)),
      queue_(cl.queue(context_, id_, properties)),
      out_(cl.buffer(context_, std::max(units_ * kGroupsOfUnit * kLocal, kMostItems) * sizeof(float))),
      program_(cl.build(context_, kSource)),
      first_(computed()) {
  launch_empty();
  launch_scaling(1, kLocal);
  finish();
}

int Device::repeats(int count) const { return options_.quick ? std::max(3, count / 20) : count; }

void Device::launch_empty() {
  cl.check("clEnqueueNDRangeKernel", cl.launch(queue_, empty_, {std::size_t{1}, std::size_t{1}}));
}

void Device::launch_scaling(std::size_t groups, std::size_t local) {
  cl.check("clSetKernelArg", cl.set_argument(scaling_, 1, static_cast<cl_uint>(groups * local)));
  cl.check("clEnqueueNDRangeKernel", cl.launch(queue_, scaling_, {groups * local, local}));
}

void Device::launch_steady(std::size_t groups, cl_uint steps) {
  cl.check("clSetKernelArg", cl.set_argument(steady_, 1, scaled(steps)));
  cl.check("clEnqueueNDRangeKernel", cl.launch(queue_, steady_, {groups * kLocal, kLocal}));
}

kit::Event Device::launch_timed(std::size_t groups, cl_uint steps) {
  cl.check("clSetKernelArg", cl.set_argument(steady_, 1, scaled(steps)));
  return cl.launch_event(queue_, steady_, {groups * kLocal, kLocal});
}

kit::Buffer Device::create(std::size_t bytes) const {
  return cl.own(cl.clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, nullptr));
}

kit::Buffer Device::allocate(std::size_t bytes) const {
  kit::Buffer made = create(bytes);
  if (!made) return made;
  const cl_int moved = cl.clEnqueueMigrateMemObjects(
      queue_, 1, made.list(), CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, nullptr, nullptr);
  if (moved != CL_SUCCESS || cl.clFinish(queue_) != CL_SUCCESS) return cl.own(cl_mem{});
  return made;
}

std::vector<kit::Buffer> Device::create_pieces(std::size_t most) const {
  std::vector<kit::Buffer> held;
  while (held.size() < most) {
    kit::Buffer made = create(kPiece);
    if (!made) break;
    held.push_back(std::move(made));
  }
  return held;
}

cl_int Device::fill_and_scale(const kit::Buffer& buffer, std::size_t items) const {
  if (const cl_int error = cl.fill(queue_, buffer, 3.0F, items); error != CL_SUCCESS) return error;
  const kit::Kernel kernel = cl.kernel(program_, "scale", buffer, static_cast<cl_uint>(items));
  if (const cl_int error = cl.launch(queue_, kernel, {items, kLocal}); error != CL_SUCCESS) return error;
  return cl.clFinish(queue_);
}

bool Device::usable(const kit::Buffer& buffer) const {
  constexpr std::size_t items = kMiB / sizeof(float);
  if (!buffer || fill_and_scale(buffer, items) != CL_SUCCESS) return false;
  return std::ranges::all_of(cl.read<float>(queue_, buffer, items),
                             [](float value) { return value == 7.0F; });
}

Device::Steady Device::another(std::size_t groups, cl_uint steps) const {
  Steady made;
  made.queue = cl.queue(context_, id_);
  made.out = cl.buffer(context_, groups * kLocal * sizeof(float));
  made.kernel = cl.kernel(program_, "steady", made.out, scaled(steps));
  return made;
}

std::vector<float> Device::computed() {
  launch_steady(units_ * kGroupsOfUnit, kChecked);
  return cl.read<float>(queue_, out_, units_ * kGroupsOfUnit * kLocal);
}

bool Device::is_right() {
  const std::vector<float> values = computed();
  return values == first_ && std::ranges::all_of(values, [](float value) { return value > 0 && value <= 1; });
}

}  // namespace metrics
