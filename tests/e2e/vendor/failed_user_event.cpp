// A launch behind a user event that is set to an error, whose own event the program has released: some drivers end the
// process if such a launch has become several commands.
#include <cstdio>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

int main() {
  const kit::Api cl(kit::linked_table(), kit::end_program);
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  const kit::Buffer buffer = cl.buffer(context, std::vector<cl_uint>(4096, 1));
  const kit::Program program =
      cl.build(context, "kernel void set(global uint* out, uint to) { out[get_global_id(0)] = to; }");
  const kit::Kernel kernel = cl.kernel(program, "set", buffer, cl_uint{2});
  const kit::Event gate = cl.user_event(context);
  cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {4096, 16}, {gate}));
  cl.check("clSetUserEventStatus", cl.clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
  const kit::Queue other = cl.queue(context, device);
  cl.check("clEnqueueNDRangeKernel", cl.launch(other, kernel, {4096, 16}));
  const auto values = cl.read<cl_uint>(other, buffer, 4096);
  std::printf("first %u, last %u\n", values.front(), values.back());
  return 0;
}
