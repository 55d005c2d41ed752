// Shared by the programs about several servers: one context over all devices, and two queues of each kind, on different
// devices if there are different ones.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "plain_program.h"

inline const char* const kSource =
    "kernel void add(global uint* x, uint n) { size_t i = get_global_id(0); x[i] = x[i] * 3u + n; }"
    "kernel void sum(global uint* to, global const uint* a, constant uint* b) {"
    "  size_t i = get_global_id(0); to[i] += a[i] ^ b[i % 16]; }"
    "kernel void shade(read_only image2d_t from, write_only image2d_t to, sampler_t s) {"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1));"
    "  write_imageui(to, at, read_imageui(from, s, at) + (uint4)(1, 2, 3, 4)); }";

struct Setup {
  std::vector<cl_device_id> devices = cl.devices(cl.platforms().at(0));
  kit::Context context = cl.context(devices);
  kit::Program program = cl.build(context, kSource);
  std::array<kit::Queue, 2> queues{queue(0), queue(1)};
  std::array<kit::Queue, 2> out_of_order{queue(0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
                                         queue(1, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)};

  [[nodiscard]] kit::Queue queue(std::size_t device, cl_command_queue_properties properties = 0) const {
    return cl.queue(context, devices[device % devices.size()], properties);
  }
  template <typename... Arguments>
  [[nodiscard]] kit::Kernel kernel(const char* name, const Arguments&... arguments) const {
    return cl.kernel(program, name, arguments...);
  }
  // Of zeros.
  [[nodiscard]] kit::Buffer buffer(std::size_t items, cl_mem_flags flags = CL_MEM_READ_WRITE) const {
    kit::Buffer made = cl.buffer(context, items * sizeof(cl_uint), flags);
    check(cl.fill(queues[0], made, cl_uint{0}, items));
    check(cl.clFinish(queues[0]));
    return made;
  }
  [[nodiscard]] kit::Event user_event() const { return cl.user_event(context); }
};

inline kit::Event launch(cl_command_queue queue, cl_kernel kernel, std::size_t items,
                         const kit::Waits& waits = {}) {
  return cl.launch_event(queue, kernel, {items}, waits);
}

inline std::uint32_t checksum_of(cl_command_queue queue, cl_mem buffer, std::size_t items,
                                 const kit::Waits& waits = {}) {
  return checksum(cl.read<cl_uint>(queue, buffer, items, 0, waits));
}
