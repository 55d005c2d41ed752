#include "interpose/drivers/driver_probe.h"

#include <algorithm>
#include <array>
#include <vector>

#include "interpose/drivers/device_facts.h"
#include "interpose/polling/slice_wait.h"
#include "interpose/state/owned.h"
#include "kernels/prelude/prelude.h"
#include "launch/launch.h"
#include "plan/tag.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// How long the device may be busy with other work.
constexpr base::Nanoseconds kProbePatience = 5s;
constexpr std::size_t kWords = 19;  // written per work-item

// Writes what the kernel observes, with constant and with variable dimensions.
constexpr std::string_view kProbe = R"(kernel void cleave_probe(global uint* seen) {
  size_t row = (get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1) - get_global_offset(1);
  size_t item = row * get_global_size(0) + get_global_id(0) - get_global_offset(0);
  global uint* words = seen + item * 19;
  words[0] = get_work_dim();
  words[1] = get_group_id(0) + 3 * get_group_id(1) + 5 * get_group_id(2);
  words[2] = get_num_groups(0) + 3 * get_num_groups(1) + 5 * get_num_groups(2) + 7 * get_global_offset(2);
  words[3] = get_global_id(0) + 3 * get_global_id(1) + 5 * get_global_id(2) + 7 * __LINE__;
  for (uint d = 0; d < 3; ++d) {
    words[4 + 5 * d] = get_group_id(d);
    words[5 + 5 * d] = get_num_groups(d);
    words[6 + 5 * d] = get_global_size(d);
    words[7 + 5 * d] = get_global_offset(d);
    words[8 + 5 * d] = get_global_id(d);
  }
}
)";
constexpr cl_uint kLineOfLine = 8;  // the line of __LINE__ above

// One launch of the probe, and into how many slices it is cut (1: unsplit).
struct Shape {
  plan::NDRange range;
  std::size_t slices;
};

// All of one local size: PoCL compiles the kernel anew for each, which is what most of the probe's time goes to.
constexpr plan::Extent kLocal{2, 1, 1};

const std::array<Shape, 12>& shapes() {
  static constexpr std::array<Shape, 12> kShapes = {{
      {{1, {5, 0, 0}, {6, 1, 1}, kLocal}, 1},
      {{2, {0, 3, 0}, {4, 3, 1}, kLocal}, 1},
      {{3, {1, 0, 9}, {4, 1, 1}, kLocal}, 1},
      {{1, {5, 0, 0}, {10, 1, 1}, kLocal}, 3},     // with the groups before the slice
      {{1, {0, 0, 0}, {16400, 1, 1}, kLocal}, 3},  // too many groups for that
      {{2, {7, 3, 0}, {4, 5, 1}, kLocal}, 3},      // the outer dimension cut
      {{2, {0, 0, 0}, {8, 2, 1}, kLocal}, 5},      // both cut
      {{3, {0, 2, 0}, {4, 3, 1}, kLocal}, 2},      // three dimensions, the third of size 1
      {{3, {1, 2, 4}, {4, 2, 2}, kLocal}, 1},
      // Volumes come last.
      {{3, {1, 2, 0}, {4, 2, 3}, kLocal}, 3},  // the outer dimension cut
      {{3, {1, 0, 6}, {4, 3, 1}, kLocal}, 3},  // an offset in the third dimension, which is uncut
      {{3, {0, 0, 0}, {6, 2, 2}, kLocal}, 7},  // all cut
  }};
  return kShapes;
}

// A positive offset that becomes negative, the tag of a launch of one dimension, if only 32 bits of it are kept.
constexpr Shape kWideOffset{{3, {0, 0, std::size_t{5} << 29U}, kLocal, kLocal}, 1};

std::vector<cl_uint> expected(const plan::NDRange& range) {
  std::vector<cl_uint> all;
  const std::size_t count = plan::items(range.global);
  const std::size_t row = range.global[0];
  const std::size_t plane = row * range.global[1];
  all.reserve(count * kWords);
  for (std::size_t item = 0; item < count; ++item) {
    const plan::Extent at{item % row, item % plane / row, item / plane};
    std::array<cl_uint, kWords> words{};
    std::array<std::array<cl_uint, 5>, 3> each{};  // group, groups, size, offset, id
    for (unsigned d = 0; d < 3; ++d) {
      each[d] = {static_cast<cl_uint>(at[d] / range.local[d]), static_cast<cl_uint>(range.groups(d)),
                 static_cast<cl_uint>(range.global[d]), static_cast<cl_uint>(range.offset[d]),
                 static_cast<cl_uint>(at[d] + range.offset[d])};
      std::copy(each[d].begin(), each[d].end(), words.begin() + 4 + std::ptrdiff_t{5} * d);
    }
    words[0] = range.dims;
    words[1] = each[0][0] + 3 * each[1][0] + 5 * each[2][0];
    words[2] = each[0][1] + 3 * each[1][1] + 5 * each[2][1] + 7 * each[2][3];
    words[3] = each[0][4] + 3 * each[1][4] + 5 * each[2][4] + 7 * kLineOfLine;
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

// The probe kernel, built for one device in a context of its own.
class Probe {
 public:
  Probe(const Table& next, base::Clock& clock, cl_device_id device)
      : next_(next), clock_(clock), device_(device) {}

  // Returns false if the driver refuses any part of it.
  bool make() {
    context_.reset(next_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, nullptr));
    if (!context_) return false;
    queue_.reset(next_.clCreateCommandQueue(context_.get(), device_, 0, nullptr));
    const std::string source = std::string(kernels::prelude()).append(kProbe);
    const char* text = source.c_str();
    program_.reset(next_.clCreateProgramWithSource(context_.get(), 1, &text, nullptr, nullptr));
    if (!queue_ || !program_) return false;
    const std::string options(kernels::kPreludeOption);
    if (next_.clBuildProgram(program_.get(), 1, &device_, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
      return false;
    }
    kernel_.reset(next_.clCreateKernel(program_.get(), "cleave_probe", nullptr));
    return kernel_ != nullptr;
  }

  // What the kernel wrote; empty if it could not be launched.
  std::vector<cl_uint> run(const Shape& shape) {
    std::vector<cl_uint> seen(plan::items(shape.range.global) * kWords, 0xdeadbeefU);
    Owned<cl_mem> buffer(next_.clCreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                              seen.size() * sizeof(cl_uint), seen.data(), nullptr),
                         next_.clReleaseMemObject);
    cl_mem handle = buffer.get();
    if (!buffer || next_.clSetKernelArg(kernel_.get(), 0, sizeof(cl_mem), &handle) != CL_SUCCESS ||
        !launch(shape)) {
      return {};
    }
    cl_event made = nullptr;
    if (next_.clEnqueueReadBuffer(queue_.get(), handle, CL_FALSE, 0, seen.size() * sizeof(cl_uint),
                                  seen.data(), 0, nullptr, &made) != CL_SUCCESS) {
      return {};
    }
    const launch::Event event(next_, made);
    next_.clFlush(queue_.get());
    switch (wait_for(next_, clock_, made, kProbePatience)) {
      case launch::WaitResult::complete:
        return seen;
      case launch::WaitResult::failed:
        return {};
      default:
        return abandon(std::move(seen));
    }
  }

  [[nodiscard]] bool busy() const { return busy_; }

 private:
  bool launch(const Shape& shape) {
    const plan::NDRange& range = shape.range;
    if (shape.slices == 1) {
      return next_.clEnqueueNDRangeKernel(queue_.get(), kernel_.get(), range.dims, range.offset.data(),
                                          range.global.data(), range.local.data(), 0, nullptr,
                                          nullptr) == CL_SUCCESS;
    }
    const plan::Cut cut(range, shape.slices);
    launch::Launch launch{};
    launch.queue = queue_.get();
    launch.kernel = kernel_.get();
    launch.range = range;
    launch.tag = plan::Tag::of(range, cut);
    return launch.tag &&
           launch::enqueue_slices(next_, clock_, launch, cut, launch::Mode::queued).error == CL_SUCCESS;
  }

  // The device may still write to the buffer, so the memory and the objects are leaked.
  std::vector<cl_uint> abandon(std::vector<cl_uint> seen) {
    busy_ = true;
    static_cast<void>(new std::vector<cl_uint>(std::move(seen)));
    static_cast<void>(kernel_.release());
    static_cast<void>(program_.release());
    static_cast<void>(queue_.release());
    static_cast<void>(context_.release());
    return {};
  }

  const Table& next_;
  base::Clock& clock_;
  cl_device_id device_;
  bool busy_ = false;
  Owned<cl_context> context_{nullptr, next_.clReleaseContext};
  Owned<cl_command_queue> queue_{nullptr, next_.clReleaseCommandQueue};
  Owned<cl_program> program_{nullptr, next_.clReleaseProgram};
  Owned<cl_kernel> kernel_{nullptr, next_.clReleaseKernel};
};

// The launch as the driver gets it: sizes and offsets, a slice's with its tag.
void append_launch(std::string& text, const Shape& shape) {
  const auto append = [&](const plan::Extent& extent) {
    for (const std::size_t size : extent) text.append(std::to_string(size)).push_back(' ');
  };
  const plan::NDRange& range = shape.range;
  text.append(std::to_string(range.dims)).append(": ");
  for (const plan::Extent* extent : {&range.offset, &range.global, &range.local}) append(*extent);
  if (shape.slices > 1) {
    const plan::Cut cut(range, shape.slices);
    const auto tag = plan::Tag::of(range, cut);
    for (std::size_t i = 0; tag && i < cut.count(); ++i) {
      const plan::Slice slice = cut.slice(i);
      append(slice.offset);
      append(slice.global);
      text.append(std::to_string(tag->offset(slice))).push_back(' ');
    }
  }
  text.push_back('\n');
}

// The text before `:shift+1:` in the line that reports the error.
LogLines lines_in(const std::string& log, unsigned shift) {
  const std::string number = ":" + std::to_string(shift + 1) + ":";
  const std::size_t at = log.find(number);
  if (at == std::string::npos) return {};
  const std::size_t line = log.find_last_of('\n', at);
  const std::size_t begin = line == std::string::npos ? 0 : line + 1;
  return {log.substr(begin, at - begin), shift};
}

}  // namespace

std::optional<ProbeResult> probe_driver(const Table& next, base::Clock& clock, cl_device_id device) {
  Probe probe(next, clock, device);
  ProbeResult facts;
  if (!probe.make()) return facts;
  facts.carries_tags = facts.carries_volume_tags = true;
  for (const Shape& shape : shapes()) {
    const bool needs_volume_tag = shape.slices > 1 && !plan::is_flat(shape.range);
    const bool right = probe.run(shape) == expected(shape.range);
    if (probe.busy()) return std::nullopt;
    if (right) continue;
    facts.carries_volume_tags = false;
    if (needs_volume_tag) break;
    facts.carries_tags = false;
    return facts;
  }
  const auto seen = probe.run(kWideOffset);
  if (probe.busy()) return std::nullopt;
  facts.truncates_offsets = seen.empty() || seen[0] != 3;
  return facts;
}

base::Digest probe_digest() {
  std::string text =
      std::string(kernels::prelude()).append(kernels::kPreludeOption).append("\n").append(kProbe);
  for (const Shape& shape : shapes()) append_launch(text, shape);
  append_launch(text, kWideOffset);
  return base::digest_of(text);
}

std::string name_driver(const Table& next, cl_device_id device) {
  std::string name;
  for (const cl_device_info what :
       {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION, CL_DEVICE_PROFILE}) {
    name.append(text_of(next, device, what)).push_back('\n');
  }
  return name.append(kernels::prelude()).append(kProbe);
}

// Uses a context of its own, since the program's context may report errors to the program.
LogLines find_log_lines(const Table& next, cl_device_id device) {
  const Owned<cl_context> context(next.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr),
                                  next.clReleaseContext);
  if (!context) return {};
  const std::string_view prelude = kernels::prelude();
  const std::string source = std::string(prelude) + "#error line\n";
  const char* text = source.c_str();
  const Owned<cl_program> program(next.clCreateProgramWithSource(context.get(), 1, &text, nullptr, nullptr),
                                  next.clReleaseProgram);
  if (!program) return {};
  next.clBuildProgram(program.get(), 1, &device, nullptr, nullptr, nullptr);
  std::size_t size = 0;
  next.clGetProgramBuildInfo(program.get(), device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  next.clGetProgramBuildInfo(program.get(), device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  return lines_in(log, static_cast<unsigned>(std::count(prelude.begin(), prelude.end(), '\n')));
}

}  // namespace cleave::interpose
