// One thread and one in-order queue: launches, reads that nothing waits for yet, and flushes between them; and behind a
// user event commands of another queue.
#include <cstdio>

#include "tests/e2e/remote/programs/plain_program.h"

int main() {
  constexpr std::size_t kItems = 256;
  constexpr int kRounds = 150;
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  const kit::Queue other = cl.queue(context, device);
  const kit::Buffer buffer = cl.buffer(context, std::vector<cl_uint>(kItems, 1));
  const kit::Buffer behind = cl.buffer(context, std::vector<cl_uint>(kItems, 1));
  const kit::Program program = cl.build(
      context, "kernel void grow(global uint* out) { uint i = get_global_id(0); out[i] = out[i] * 5 + i; }");
  const kit::Kernel kernel = cl.kernel(program, "grow", buffer);
  const kit::Kernel later = cl.kernel(program, "grow", behind);

  const kit::Event gate = cl.user_event(context);
  std::vector<cl_uint> held(kItems);
  check(cl.launch(other, later, {kItems, 16}, {gate}));
  kit::Event last = cl.event();
  check(cl.clEnqueueReadBuffer(other, behind, CL_FALSE, 0, kItems * sizeof(cl_uint), held.data(), 0, nullptr,
                               last.out()));

  std::vector<std::vector<cl_uint>> results(kRounds, std::vector<cl_uint>(kItems));
  for (std::vector<cl_uint>& values : results) {
    check(cl.launch(queue, kernel, {kItems, 16}));
    check(cl.clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, kItems * sizeof(cl_uint), values.data(), 0,
                                 nullptr, nullptr));
    check(cl.clFlush(queue));
  }
  check(cl.clFinish(queue));
  check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
  check(cl.wait({last}));
  std::uint32_t sum = checksum(held);
  for (const std::vector<cl_uint>& values : results) sum = sum * 31 + checksum(values);
  std::printf("%08x\n", sum);
  return 0;
}
