// What a context over several devices reports of itself and its objects, and programs created in all ways: prints what does
// not depend on how many devices there are, or on which servers.
#include <algorithm>
#include <atomic>

#include "multi_server_setup.h"

namespace {

constexpr std::size_t kItems = 256;

void print(const char* what, bool is_true) { std::printf("%s: %s\n", what, is_true ? "yes" : "no"); }

void query_contexts(const Setup& setup) {
  const auto devices = cl.info_list<cl_device_id>(setup.context, CL_CONTEXT_DEVICES);
  print("the context has all devices", devices == setup.devices);
  const auto count = cl.info<cl_uint>(setup.context, CL_CONTEXT_NUM_DEVICES);
  print("and counts them", count == devices.size());
  for (const kit::Queue& queue : setup.queues) {
    print("a queue's context", cl.info<cl_context>(queue, CL_QUEUE_CONTEXT) == setup.context.get());
    const kit::Event event = cl.marker_event(queue);
    print("an event's context", cl.info<cl_context>(event, CL_EVENT_CONTEXT) == setup.context.get());
    print("its queue", cl.info<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE) == queue.get());
  }
  cl_int error = CL_SUCCESS;
  const kit::Context by_type =
      cl.own(clCreateContextFromType(nullptr, CL_DEVICE_TYPE_ALL, nullptr, nullptr, &error));
  check(error);
  print("a context by type has as many", cl.info<cl_uint>(by_type, CL_CONTEXT_NUM_DEVICES) == count);
}

void set_flag(void* data) {
  auto& flag = *static_cast<std::atomic<bool>*>(data);
  flag = true;
  flag.notify_all();
}

void CL_CALLBACK on_destruction(cl_mem, void* data) { set_flag(data); }
void CL_CALLBACK on_build(cl_program, void* data) { set_flag(data); }

void query_memory(const Setup& setup) {
  static std::atomic<bool> destroyed{false};
  {
    const kit::Buffer buffer = setup.buffer(kItems);
    print("a buffer's context", cl.info<cl_context>(buffer, CL_MEM_CONTEXT) == setup.context.get());
    const kit::Buffer part = cl.sub_buffer(buffer, kItems, kItems, CL_MEM_READ_ONLY);
    print("a sub-buffer's buffer", cl.info<cl_mem>(part, CL_MEM_ASSOCIATED_MEMOBJECT) == buffer.get());
    print("its offset", cl.info<std::size_t>(part, CL_MEM_OFFSET) == kItems);
    check(clSetMemObjectDestructorCallback(part, on_destruction, &destroyed));
  }
  for (const kit::Queue& queue : setup.queues) check(cl.clFinish(queue));
  destroyed.wait(false);
  print("its destructor callback was called", destroyed);
  cl_uint count = 0;
  check(clGetSupportedImageFormats(setup.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr,
                                   &count));
  print("there are image formats", count != 0);
}

// Launches a program's kernel on both queues.
void run(const Setup& setup, const kit::Program& program, const char* what) {
  const kit::Buffer buffer = setup.buffer(kItems);
  const kit::Kernel kernel = cl.kernel(program, "add", buffer, cl_uint{11});
  print("a kernel's program", cl.info<cl_program>(kernel, CL_KERNEL_PROGRAM) == program.get());
  print("and context", cl.info<cl_context>(kernel, CL_KERNEL_CONTEXT) == setup.context.get());
  const kit::Event first = launch(setup.queues[0], kernel, kItems);
  cl_int error = CL_SUCCESS;
  const kit::Kernel clone = cl.own(clCloneKernel(kernel, &error));
  const kit::Event second = launch(setup.queues[1], error == CL_SUCCESS ? clone : kernel, kItems, {first});
  std::printf("%s %08x\n", what, checksum_of(setup.queues[1], buffer, kItems, {second}));
  for (cl_device_id const device : setup.devices) {
    std::size_t size = 0;
    check(
        cl.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof size, &size, nullptr));
    require(size != 0, "CL_KERNEL_WORK_GROUP_SIZE is not 0");
  }
}

void from_binaries(const Setup& setup) {
  const std::size_t count = setup.devices.size();
  auto sizes = cl.info_list<std::size_t>(setup.program, CL_PROGRAM_BINARY_SIZES);
  std::vector<std::vector<unsigned char>> binaries;
  std::vector<unsigned char*> places;
  for (const std::size_t size : sizes) places.push_back(binaries.emplace_back(size).data());
  check(cl.clGetProgramInfo(setup.program, CL_PROGRAM_BINARIES, count * sizeof places[0], places.data(),
                            nullptr));
  // In another order than the context's.
  const std::vector<cl_device_id> devices(setup.devices.rbegin(), setup.devices.rend());
  std::reverse(sizes.begin(), sizes.end());
  std::vector<const unsigned char*> given(places.rbegin(), places.rend());
  std::vector<cl_int> states(count, -1);
  cl_int error = CL_SUCCESS;
  const kit::Program program =
      cl.own(cl.clCreateProgramWithBinary(setup.context, static_cast<cl_uint>(count), devices.data(),
                                          sizes.data(), given.data(), states.data(), &error));
  check(error);
  print("all binaries were accepted",
        std::count(states.begin(), states.end(), CL_SUCCESS) == static_cast<long>(count));
  check(cl.build(program));
  run(setup, program, "from binaries");
}

void linked(const Setup& setup) {
  const kit::Program kernels =
      cl.program(setup.context,
                 "uint next(uint x, uint n); kernel void add(global uint* x, uint n) {"
                 " x[get_global_id(0)] = next(x[get_global_id(0)], n); }");
  const kit::Program functions =
      cl.program(setup.context, "uint next(uint x, uint n) { return x * 5u + n; }");
  for (cl_program const part : {kernels.get(), functions.get()}) check(cl.compile(part));
  run(setup, cl.link(setup.context, {kernels, functions}), "linked");
}

void invalid_programs(const Setup& setup) {
  const kit::Program program = cl.program(setup.context, "kernel void broken( {");
  static std::atomic<bool> built{false};
  std::printf("an invalid program %d\n", cl.clBuildProgram(program, 0, nullptr, "", on_build, &built));
  built.wait(false);
  print("its build callback was called", built);
  print("there is a log for each device",
        std::all_of(setup.devices.begin(), setup.devices.end(),
                    [&](cl_device_id device) { return !cl.build_log(program, device).empty(); }));
  cl_int error = CL_SUCCESS;
  cl.clCreateKernel(program, "broken", &error);
  std::printf("a kernel of it %d\n", error);
}

void invalid_calls(const Setup& setup) {
  const kit::Buffer buffer = setup.buffer(kItems);
  const kit::Kernel add = setup.kernel("add", buffer, cl_uint{1});
  cl_uint value = 0;
  print("an argument too many is refused", cl.set_argument(add, 2, value) == CL_INVALID_ARG_INDEX);
  print("an argument that is too large", cl.set_argument(add, 1, std::size_t{kItems}) != CL_SUCCESS);
  print("a launch of no dimension", cl.clEnqueueNDRangeKernel(setup.queues[1], add, 0, nullptr, &kItems,
                                                              nullptr, 0, nullptr, nullptr) != CL_SUCCESS);
  print("a read beyond the end", cl.clEnqueueReadBuffer(setup.queues[1], buffer, CL_TRUE, 0, 5 * kItems,
                                                        &value, 0, nullptr, nullptr) == CL_INVALID_VALUE);
  print("an unmap of what is not mapped", cl.unmap(setup.queues[1], buffer, &value) == CL_INVALID_VALUE);
  // Refused calls have changed nothing.
  const kit::Event event = launch(setup.queues[1], add, kItems);
  std::printf("after all that %08x\n", checksum_of(setup.queues[0], buffer, kItems, {event}));
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Setup setup;
  query_contexts(setup);
  query_memory(setup);
  run(setup, setup.program, "from source");
  from_binaries(setup);
  linked(setup);
  invalid_programs(setup);
  invalid_calls(setup);
  return 0;
}
