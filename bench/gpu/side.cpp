#include "bench/gpu/side.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "bench/kernels/input.h"
#include "cleave/cleave.h"
#include "tests/kit/failures.h"
#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace gpu {
namespace {

constexpr std::size_t kStretches = 64;
constexpr std::size_t kStretch = 4096;  // words
// Only the vendor library answers this name, also where the drop-in is above it.
constexpr const char* kVendorsInfo = CL_CLEAVE_GET_INFO_NAME "CLEAVE";

double now() { return kit::now<std::milli>(); }

cl_icd_dispatch table_of(const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw std::runtime_error(dlerror());
  return kit::opened_table(opened);
}

}  // namespace

Side::Side(const std::string& library, const Target& target, const kernels::Work& work)
    : cl_(table_of(library), kit::throw_error), work_(work), small_sizes_(target.small) {
  choose_device(target);
  global_ = fitting();
  out_words_ = work.out_words(global_);
  context_ = cl_.context(device_);
  queue_ = cl_.queue(context_, device_);
  other_ = cl_.queue(context_, device_);
  in_ = make_buffer(work.in_words(global_));
  out_ = make_buffer(out_words_);
  word_ = make_buffer(1);
  fill_input();
  kernel_ = make_kernel(work.source, "work");
  small_ = make_kernel("kernel void small(global uint* in) { if (in[0] == 0) in[0] = 1; }", "small");
  cl_.check("clSetKernelArg", cl_.set_arguments(kernel_, in_, out_, static_cast<cl_uint>(global_.x)));
  cl_.check("clSetKernelArg", cl_.set_arguments(small_, word_));
  clear();
}

void Side::choose_device(const Target& target) {
  for (const cl_device_type type : {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (const cl_platform_id platform : cl_.platforms()) {
      const std::string name = cl_.text(platform, CL_PLATFORM_NAME);
      const bool wrapped = cl_.clGetExtensionFunctionAddressForPlatform(platform, kVendorsInfo) != nullptr;
      if (name.find(target.platform) == std::string::npos || wrapped != target.wrapped) continue;
      const std::vector<cl_device_id> devices = cl_.devices(platform, type);
      if (devices.empty()) continue;
      platform_ = platform;
      device_ = devices.front();
      processor_ = (cl_.info<cl_device_type>(device_, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
      return;
    }
  }
  throw std::runtime_error("no device on a platform whose name contains \"" + target.platform + "\"" +
                           (target.wrapped ? ", behind Cleave's vendor library" : ""));
}

// Fewer rows than requested where the buffers of two sides would need more than half the memory.
kernels::Grid Side::fitting() const {
  const auto memory = cl_.info<cl_ulong>(device_, CL_DEVICE_GLOBAL_MEM_SIZE);
  const auto largest = cl_.info<cl_ulong>(device_, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  const std::size_t most = std::min(largest, memory / 8) / sizeof(cl_uint);
  kernels::Grid global = small_sizes_ || processor_ ? work_.small : work_.global;
  std::size_t& rows = work_.dims == 1 ? global.x : global.y;
  while (std::max(work_.in_words(global), work_.out_words(global)) > most && rows > (std::size_t{1} << 10))
    rows /= 2;
  return global;
}

kit::Buffer Side::make_buffer(std::size_t words) const {
  return cl_.buffer(context_, words * sizeof(cl_uint));
}

// In rows, since not every driver takes offsets or sizes near 2^32 in one dimension.
void Side::fill_input() {
  constexpr std::size_t kRow = 65536;
  const std::size_t words = work_.in_words(global_);
  const std::size_t columns = words % kRow == 0 ? kRow : words;
  const kit::Kernel fill = make_kernel(kernels::kFill, "fill");
  const cl_uint floats = work_.floats ? 1 : 0;
  cl_.check("clSetKernelArg", cl_.set_arguments(fill, in_, floats, static_cast<cl_uint>(columns)));
  cl_.check("clEnqueueNDRangeKernel", cl_.launch(queue_, fill, kit::Sizes(columns, words / columns)));
  finish(queue_);
}

void Side::clear() {
  cl_.check("clEnqueueFillBuffer", cl_.fill(queue_, out_, cl_uint{0}, out_words_));
  finish(queue_);
}

kit::Kernel Side::make_kernel(const char* source, const char* name) const {
  return cl_.kernel(cl_.build(context_, source), name);
}

void Side::finish(cl_command_queue queue) const { cl_.check("clFinish", cl_.clFinish(queue)); }

double Side::run(bool with_event) {
  kit::Range range(kit::Sizes(global_.x, global_.y), kit::Sizes(work_.local.x, work_.local.y));
  range.global.dims = work_.dims;
  kit::Event event = cl_.event();
  return kit::duration_of<std::milli>([&] {
    cl_.check("clEnqueueNDRangeKernel",
              cl_.launch(queue_, kernel_, range, {}, with_event ? event.out() : nullptr));
    finish(queue_);
  });
}

void Side::launch_small() { cl_.check("clEnqueueNDRangeKernel", cl_.launch(other_, small_, {256, 64})); }

Side::Small Side::run_small() {
  const double start = now();
  launch_small();
  const double enqueued = now();
  finish(other_);
  return {enqueued - start, now() - start};
}

double Side::run_stream(std::size_t count) {
  const double start = now();
  for (std::size_t i = 0; i < count; ++i) launch_small();
  finish(other_);
  return now() - start;
}

std::size_t Side::stretch(std::size_t number) const {
  return (out_words_ - std::min(kStretch, out_words_)) * number / (kStretches - 1);
}

std::vector<cl_uint> Side::sample() {
  const std::size_t length = std::min(kStretch, out_words_);
  std::vector<cl_uint> values(length * kStretches);
  for (std::size_t i = 0; i < kStretches; ++i) {
    cl_.check("clEnqueueReadBuffer",
              cl_.read(queue_, out_, kit::Blocking::yes, std::span(values).subspan(i * length, length),
                       stretch(i) * sizeof(cl_uint)));
  }
  return values;
}

bool Side::is_right(const std::vector<cl_uint>& sample) const {
  const std::size_t length = std::min(kStretch, out_words_);
  for (std::size_t i = 0; i < kStretches; ++i) {
    // The first and the last of all words are among them.
    for (const std::size_t at : {i * (length - 1) / (kStretches - 1), (i * 2654435761U) % length}) {
      if (!kernels::right(work_, global_, stretch(i) + at, sample[i * length + at])) return false;
    }
  }
  return true;
}

std::string Side::device_text() {
  return cl_.text(device_, CL_DEVICE_NAME) + ", driver " + cl_.text(device_, CL_DRIVER_VERSION);
}

std::string Side::statistics() {
  auto info = reinterpret_cast<clGetCleaveInfo_fn>(
      cl_.clGetExtensionFunctionAddressForPlatform(platform_, CL_CLEAVE_GET_INFO_NAME));
  if (info == nullptr) return "";
  std::string text(65536, '\0');
  cl_.check("clGetCleaveInfo", info(nullptr, CL_CLEAVE_STATISTICS, text.size(), text.data(), nullptr));
  return text.substr(0, text.find('\0'));
}

}  // namespace gpu
