// A program on two servers, of which the first is killed after it prints a line and until it reads one. Prints the results
// of its commands.
#include "multi_server_setup.h"

namespace {

constexpr std::size_t kItems = 1024;

void print(const char* what, cl_int error) {
  std::printf("%s: %s\n", what,
              error == CL_SUCCESS                ? "success"
              : error == CL_DEVICE_NOT_AVAILABLE ? "not available"
              : error < 0                        ? "error"
                                                 : "unfinished");
}

cl_int run_on(cl_command_queue queue, cl_kernel kernel) {
  kit::Event event = cl.event();
  const cl_int error = cl.launch(queue, kernel, {kItems}, {}, event.out());
  if (error != CL_SUCCESS) return error;
  cl.wait({event});
  return cl.status(event);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Setup setup;
  require(setup.devices.size() == 2, "there are two devices");
  const kit::Buffer shared = setup.buffer(kItems);
  const kit::Buffer kept = setup.buffer(kItems);
  const kit::Kernel add = setup.kernel("add", shared, cl_uint{5});
  const kit::Kernel own = setup.kernel("add", kept, cl_uint{6});
  check(run_on(setup.queues[0], add));
  check(run_on(setup.queues[1], own));
  // One that never completes by itself, and one on the other server that waits for it.
  const kit::Event gate = setup.user_event();
  const kit::Event first = launch(setup.queues[0], add, kItems, {gate});
  const kit::Event second = launch(setup.queues[1], own, kItems, {first});
  std::printf("kill the first server\n");
  if (std::getchar() == EOF) return 1;
  std::printf("a command that waits for the lost one: %s\n",
              cl.wait({second}) == CL_SUCCESS ? "success" : "error");
  print("the lost command", cl.status(first));
  print("a launch there", run_on(setup.queues[0], add));
  print("a finish there", cl.clFinish(setup.queues[0]));
  print("a launch on the other server with a lost buffer", run_on(setup.queues[1], add));
  print("a launch with its own buffer", run_on(setup.queues[1], own));
  check(cl.write(setup.queues[1], shared, std::vector<cl_uint>(kItems, 1)));
  print("a launch with rewritten contents", run_on(setup.queues[1], add));
  std::printf("%08x %08x\n", checksum_of(setup.queues[1], shared, kItems),
              checksum_of(setup.queues[1], kept, kItems));
  cl_int error = CL_SUCCESS;
  const kit::Buffer fresh =
      cl.own(cl.clCreateBuffer(setup.context, CL_MEM_READ_WRITE, 4096, nullptr, &error));
  print("a new buffer", error);
  check(cl.set_argument(own, 0, fresh));
  print("a launch with it", run_on(setup.queues[1], own));
  print("completing the user event", cl.clSetUserEventStatus(gate, CL_COMPLETE));
  print("a finish", cl.clFinish(setup.queues[1]));
  std::fflush(stdout);
  std::_Exit(0);  // without releases, which the lost server cannot take
}
