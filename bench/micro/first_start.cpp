// A program that builds one kernel, launches it once, checks what it wrote and ends.
//
//   first_start group|item
//
// `group`: each work-group adds up its numbers and writes by its own id, so a slice must tell the kernel of the whole
// launch. `item`: each work-item changes its own number, for which nothing needs to be told.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string_view>
#include <vector>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

namespace {

constexpr std::size_t kItems = 65536;
constexpr std::size_t kGroup = 64;
constexpr const char* kGroupSource = R"(
kernel void group(global uint* out, global const uint* in) {
  local uint sums[64];
  const size_t at = get_local_id(0);
  sums[at] = in[get_global_id(0)];
  for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < step) sums[at] += sums[at + step];
  }
  if (at == 0) out[get_group_id(0)] = sums[0];
}
)";
constexpr const char* kItemSource = R"(
kernel void item(global uint* out, global const uint* in) {
  const size_t at = get_global_id(0);
  out[at] = in[at] * 3 + 1;
}
)";

std::vector<cl_uint> expected(const std::vector<cl_uint>& in, bool group) {
  std::vector<cl_uint> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (group) {
      out[i / kGroup] += in[i];
    } else {
      out[i] = in[i] * 3 + 1;
    }
  }
  return out;
}

bool run(bool group) {
  const kit::Api cl(kit::linked_table(), kit::throw_error);
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  std::vector<cl_uint> in(kItems);
  std::iota(in.begin(), in.end(), 0U);
  const kit::Buffer source = cl.buffer(context, in);
  const kit::Buffer target = cl.buffer(context, std::vector<cl_uint>(kItems));
  const kit::Program program = cl.build(context, group ? kGroupSource : kItemSource);
  const kit::Kernel kernel = cl.kernel(program, group ? "group" : "item", target, source);
  cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {kItems, kGroup}));
  return cl.read<cl_uint>(queue, target, kItems) == expected(in, group);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view kind = argc == 2 ? argv[1] : "";
  if (kind != "group" && kind != "item") {
    std::fputs("usage: first_start group|item\n", stderr);
    return 2;
  }
  if (run(kind == "group")) return 0;
  std::fputs("first_start: wrong results\n", stderr);
  return 1;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "first_start: %s\n", failure.what());
  return 2;
}
