#include "kernel_arguments.h"

#include <algorithm>

namespace fuzz {

namespace {

constexpr std::size_t kGuard = 1024;  // words before and after `out`; a multiple of every device's alignment
constexpr std::size_t kInWords = 1024;
constexpr std::size_t kTotalsWords = 64 + 4096;
constexpr std::size_t kCellsWords = 1024 + kGuard;

Buffer filled(cl_context context, Random& random, std::size_t count, Observations& observations) {
  Words words(count);
  for (std::uint32_t& word : words) word = random.word();
  cl_int status = CL_SUCCESS;
  Buffer buffer = cl.own(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                        count * sizeof(cl_uint), words.data(), &status));
  if (status != CL_SUCCESS) observations.add("buffer", status);
  return buffer;
}

void add_hash(Observations& observations, std::string_view name, cl_command_queue queue, cl_mem buffer) {
  std::size_t size = 0;
  clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, nullptr);
  Words words(size / sizeof(cl_uint));
  const cl_int status = cl.read(queue, buffer, kit::Blocking::yes, std::span(words));
  if (status != CL_SUCCESS) observations.add("read", status);
  observations.hash(name, words.data(), size);
}

}  // namespace

Buffers::Buffers(cl_context context, Random random, std::size_t items, Observations& observations)
    : whole(filled(context, random, items + 2 * kGuard, observations)),
      in(filled(context, random, kInWords, observations)),
      totals(filled(context, random, kTotalsWords, observations)),
      cells(filled(context, random, kCellsWords, observations)) {
  if (random.chance(50)) {
    clRetainMemObject(whole);
    out = cl.own(whole.get());
    return;
  }
  const cl_buffer_region region = {kGuard * sizeof(cl_uint), items * sizeof(cl_uint)};
  cl_int status = CL_SUCCESS;
  out = cl.own(clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
  if (status != CL_SUCCESS) observations.add("region", status);
}

void Buffers::add_to(Observations& observations, cl_command_queue queue) const {
  add_hash(observations, "out", queue, whole);
  add_hash(observations, "in", queue, in);
  add_hash(observations, "totals", queue, totals);
  add_hash(observations, "cells", queue, cells);
}

Buffer Buffers::temporary_cells(cl_kernel kernel, Observations& observations) const {
  cl_context context = nullptr;
  clGetMemObjectInfo(cells, CL_MEM_CONTEXT, sizeof context, static_cast<void*>(&context), nullptr);
  Words words(kCellsWords, 1);
  cl_int status = CL_SUCCESS;
  Buffer brief = cl.own(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       words.size() * sizeof words[0], words.data(), &status));
  if (status != CL_SUCCESS) observations.add("brief", status);
  status = cl.set_argument(kernel, 3, brief);
  if (status != CL_SUCCESS) observations.add("argument", status);
  return brief;
}

void set_arguments(cl_kernel kernel, const Platform& platform, const Buffers& buffers, const Shape& shape,
                   std::uint32_t salt, Observations& observations, unsigned left_out) {
  const auto low = [](std::size_t size) { return static_cast<cl_uint>(size); };
  const cl_uint origin[4] = {low(shape.offset[0]), low(shape.offset[1]), low(shape.offset[2]), 0};
  const cl_uint unmoved[4] = {};
  const cl_uint extent[4] = {low(shape.global[0]), low(shape.global[1]), low(shape.global[2]),
                             low(shape.items())};
  const std::size_t most = std::min(shape.items(), platform.most_local);
  const std::size_t local = shape.with_local ? shape.local[0] * shape.local[1] * shape.local[2] : most;
  const cl_mem objects[] = {buffers.out, buffers.in, buffers.totals, buffers.cells};
  for (cl_uint place = 0; place < kArguments; ++place) {
    if ((left_out >> place & 1U) != 0) continue;
    cl_int status = CL_SUCCESS;
    switch (place) {
      case 4:
        status = clSetKernelArg(kernel, place, sizeof origin, shape.with_offset ? origin : unmoved);
        break;
      case 5:
        status = clSetKernelArg(kernel, place, sizeof extent, extent);
        break;
      case 6:
        status = clSetKernelArg(kernel, place, sizeof salt, &salt);
        break;
      case 7:
        status = clSetKernelArg(kernel, place, std::max<std::size_t>(local, 64) * sizeof(cl_uint), nullptr);
        break;
      default:
        status = clSetKernelArg(kernel, place, sizeof(cl_mem), static_cast<const void*>(&objects[place]));
    }
    if (status != CL_SUCCESS) observations.add("argument", status);
  }
}

}  // namespace fuzz
