// A program on two servers that loses one of them when it says "lose" and until it is answered on standard
// input. Prints what becomes of its commands.
#include "multi_server_setup.h"

namespace {

constexpr std::size_t kItems = 1024;

const char* said(cl_int error) {
  return error == CL_SUCCESS                ? "well"
         : error == CL_DEVICE_NOT_AVAILABLE ? "not available"
         : error < 0                        ? "an error"
                                            : "unfinished";
}

cl_int run_on(cl_command_queue queue, cl_kernel kernel) {
  cl_event event = nullptr;
  const cl_int error =
      clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, &event);
  if (error != CL_SUCCESS) return error;
  clWaitForEvents(1, &event);
  return status_of(event);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Rig rig;
  require_true(rig.devices.size() == 2, "two devices");
  cl_kernel const add = rig.kernel("add");
  cl_kernel const own = rig.kernel("add");
  cl_mem const shared = rig.buffer(kItems);
  cl_mem const kept = rig.buffer(kItems);
  set(add, 0, shared);
  set(add, 1, 5U);
  set(own, 0, kept);
  set(own, 1, 6U);
  require(run_on(rig.queues[0], add), "the one");
  require(run_on(rig.queues[1], own), "the other");
  // One that never ends by itself, and one on the other server that waits for it.
  cl_event const late = rig.user_event();
  cl_event const first = launch(rig.queues[0], add, kItems, {late});
  cl_event second = launch(rig.queues[1], own, kItems, {first});
  std::printf("lose\n");
  if (std::getchar() == EOF) return 1;
  std::printf("what waits for the lost one ends with %s\n",
              clWaitForEvents(1, &second) == CL_SUCCESS ? "success" : "an error");
  std::printf("the lost one's own: %s\n", said(status_of(first)));
  std::printf("a launch there: %s\n", said(run_on(rig.queues[0], add)));
  std::printf("finishing there: %s\n", said(clFinish(rig.queues[0])));
  std::printf("a launch on the other with what was lost: %s\n", said(run_on(rig.queues[1], add)));
  std::printf("with its own: %s\n", said(run_on(rig.queues[1], own)));
  const std::vector<cl_uint> fresh(kItems, 1);
  require(clEnqueueWriteBuffer(rig.queues[1], shared, CL_TRUE, 0, sizeof(cl_uint) * kItems, fresh.data(), 0,
                               nullptr, nullptr),
          "new contents");
  std::printf("with new contents: %s\n", said(run_on(rig.queues[1], add)));
  std::printf("%08x %08x\n", checksum(read_all(rig.queues[1], shared, kItems)),
              checksum(read_all(rig.queues[1], kept, kItems)));
  cl_mem const made = [&] {
    cl_int error = CL_SUCCESS;
    cl_mem const one = clCreateBuffer(rig.context, CL_MEM_READ_WRITE, 4096, nullptr, &error);
    std::printf("a new buffer: %s\n", said(error));
    return one;
  }();
  set(own, 0, made);
  std::printf("with that: %s\n", said(run_on(rig.queues[1], own)));
  std::printf("setting the event: %s\n", said(clSetUserEventStatus(late, CL_COMPLETE)));
  std::printf("finishing: %s\n", said(clFinish(rig.queues[1])));
  return 0;
}
