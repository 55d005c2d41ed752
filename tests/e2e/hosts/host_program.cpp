#include "host_program.h"

#include <algorithm>

#include "tests/kit/linked.h"

namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20U;
constexpr std::size_t kItems = 4096;

const char* const kSource =
    "kernel void add(global uint* out) {\n"
    "  uint i = (uint)get_global_id(0);\n"
    "  out[i] = out[i] * 3u + i;\n"
    "}\n";

cl_int first_error = CL_SUCCESS;

void keep_first(const char*, cl_int error, const kit::Where&) {
  if (first_error == CL_SUCCESS) first_error = error;
}

std::vector<cl_uint> pattern(std::size_t items) {
  std::vector<cl_uint> made(items);
  for (std::size_t i = 0; i < items; ++i) made[i] = static_cast<cl_uint>(i) * 2654435761U;
  return made;
}

}  // namespace

cl_int HostProgram::error() { return first_error; }

void HostProgram::forget_error() { first_error = CL_SUCCESS; }

void HostProgram::list_devices() {
  const kit::Api cl(kit::linked_table(), keep_first);
  for (const cl_platform_id platform : cl.platforms()) static_cast<void>(cl.devices(platform));
}

HostProgram::HostProgram() : cl_(kit::linked_table(), keep_first) {
  const auto platforms = cl_.platforms();
  const auto devices = platforms.empty() ? std::vector<cl_device_id>() : cl_.devices(platforms.front());
  if (devices.empty()) keep_first("no device", CL_DEVICE_NOT_FOUND, {});
  if (devices.empty()) return;
  context_ = cl_.context(devices.front());
  queue_ = cl_.queue(context_, devices.front());
  program_ = cl_.build(context_, kSource);
}

void HostProgram::work(int launches, void (*print)()) {
  const std::vector<cl_uint> contents = pattern(kBytes / sizeof(cl_uint));
  const kit::Buffer large = cl_.buffer(context_, kBytes);
  const std::span<const cl_uint> all(contents);
  cl_.check("clEnqueueWriteBuffer", cl_.write(queue_, large, kit::Blocking::no, all));
  print();
  cl_.check("clFinish", cl_.clFinish(queue_));
  if (first_error != CL_SUCCESS) return;
  wrong_ += cl_.read<cl_uint>(queue_, large, contents.size()) == contents ? 0 : 1;
  const auto* const mapped = cl_.map<cl_uint>(queue_, large, CL_MAP_READ | CL_MAP_WRITE, contents.size());
  print();
  if (mapped == nullptr) return;
  wrong_ += std::equal(contents.begin(), contents.end(), mapped) ? 0 : 1;
  cl_.check("clEnqueueUnmapMemObject", cl_.unmap(queue_, large, mapped));

  std::vector<cl_uint> expected = pattern(kItems);
  const kit::Buffer small = cl_.buffer(context_, expected);
  const kit::Kernel kernel = cl_.kernel(program_, "add", small);
  for (int i = 0; i < launches; ++i) {
    cl_.check("clEnqueueNDRangeKernel", cl_.launch(queue_, kernel, {kItems, 16}));
    print();
    for (std::size_t item = 0; item < kItems; ++item)
      expected[item] = expected[item] * 3 + static_cast<cl_uint>(item);
  }
  wrong_ += cl_.read<cl_uint>(queue_, small, kItems) == expected ? 0 : 1;
}
