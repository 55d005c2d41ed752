// What a context over several devices says of itself and its objects, and programs that come in all the ways
// there are: prints what does not depend on how many devices there are, or on which servers.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "multi_server_setup.h"

namespace {

constexpr std::size_t kItems = 256;

template <typename Handle, typename Query, typename T>
T ask(Query query, Handle handle, cl_uint what, T value) {
  require(query(handle, what, sizeof value, &value, nullptr), "a query");
  return value;
}

void said(const char* what, bool is_true) { std::printf("%s: %s\n", what, is_true ? "yes" : "no"); }

void of_contexts(const Rig& rig) {
  std::vector<cl_device_id> devices(rig.devices.size());
  size_t size = 0;
  require(clGetContextInfo(rig.context, CL_CONTEXT_DEVICES, devices.size() * sizeof devices[0],
                           devices.data(), &size),
          "CL_CONTEXT_DEVICES");
  said("the context has all devices", size == devices.size() * sizeof devices[0] && devices == rig.devices);
  const auto count = ask(clGetContextInfo, rig.context, CL_CONTEXT_NUM_DEVICES, cl_uint{0});
  said("and counts them", count == devices.size());
  for (cl_command_queue const queue : rig.queues) {
    said("a queue's context",
         ask(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, cl_context{}) == rig.context);
    cl_event event = nullptr;
    require(clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
    said("an event's context", ask(clGetEventInfo, event, CL_EVENT_CONTEXT, cl_context{}) == rig.context);
    said("its queue", ask(clGetEventInfo, event, CL_EVENT_COMMAND_QUEUE, cl_command_queue{}) == queue);
    clReleaseEvent(event);
  }
  cl_int error = CL_SUCCESS;
  cl_context const by_type = clCreateContextFromType(nullptr, CL_DEVICE_TYPE_ALL, nullptr, nullptr, &error);
  require(error, "clCreateContextFromType");
  said("a context by type has as many",
       ask(clGetContextInfo, by_type, CL_CONTEXT_NUM_DEVICES, cl_uint{0}) == count);
  clReleaseContext(by_type);
}

void tell(void* data) {
  auto& told = *static_cast<std::atomic<bool>*>(data);
  told = true;
  told.notify_all();
}

void CL_CALLBACK note_end(cl_mem, void* data) { tell(data); }

void of_memory(const Rig& rig) {
  cl_mem const buffer = rig.buffer(kItems);
  said("a buffer's context", ask(clGetMemObjectInfo, buffer, CL_MEM_CONTEXT, cl_context{}) == rig.context);
  const cl_buffer_region region{kItems, kItems};
  cl_int error = CL_SUCCESS;
  cl_mem const part =
      clCreateSubBuffer(buffer, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  require(error, "clCreateSubBuffer");
  said("a part's buffer", ask(clGetMemObjectInfo, part, CL_MEM_ASSOCIATED_MEMOBJECT, cl_mem{}) == buffer);
  said("its offset", ask(clGetMemObjectInfo, part, CL_MEM_OFFSET, size_t{0}) == kItems);
  static std::atomic<bool> ended{false};
  require(clSetMemObjectDestructorCallback(part, note_end, &ended), "a destructor callback");
  clReleaseMemObject(part);
  clReleaseMemObject(buffer);
  for (cl_command_queue const queue : rig.queues) require(clFinish(queue), "clFinish");
  ended.wait(false);
  said("its end was told", ended);
  cl_uint count = 0;
  require(
      clGetSupportedImageFormats(rig.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count),
      "clGetSupportedImageFormats");
  said("there are formats", count != 0);
}

// Launches a program's kernel on both queues.
void run(const Rig& rig, cl_program program, const char* what) {
  cl_int error = CL_SUCCESS;
  cl_kernel const kernel = clCreateKernel(program, "add", &error);
  require(error, what);
  said("a kernel's program", ask(clGetKernelInfo, kernel, CL_KERNEL_PROGRAM, cl_program{}) == program);
  said("and context", ask(clGetKernelInfo, kernel, CL_KERNEL_CONTEXT, cl_context{}) == rig.context);
  cl_mem const memory = rig.buffer(kItems);
  set(kernel, 0, memory);
  set(kernel, 1, 11U);
  cl_event const first = launch(rig.queues[0], kernel, kItems);
  cl_kernel const clone = clCloneKernel(kernel, &error);
  cl_event const second = launch(rig.queues[1], error == CL_SUCCESS ? clone : kernel, kItems, {first});
  std::printf("%s %08x\n", what, checksum(read_all(rig.queues[1], memory, kItems, {second})));
  for (cl_device_id const device : rig.devices) {
    size_t most = 0;
    require(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr),
            what);
    require_true(most != 0, "CL_KERNEL_WORK_GROUP_SIZE");
  }
  clReleaseMemObject(memory);
  clReleaseKernel(kernel);
}

void from_binaries(const Rig& rig) {
  const std::size_t count = rig.devices.size();
  std::vector<size_t> sizes(count);
  require(
      clGetProgramInfo(rig.program, CL_PROGRAM_BINARY_SIZES, count * sizeof sizes[0], sizes.data(), nullptr),
      "CL_PROGRAM_BINARY_SIZES");
  std::vector<std::vector<unsigned char>> binaries(count);
  std::vector<unsigned char*> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    binaries[i].resize(sizes[i]);
    places[i] = binaries[i].data();
  }
  require(
      clGetProgramInfo(rig.program, CL_PROGRAM_BINARIES, count * sizeof places[0], places.data(), nullptr),
      "CL_PROGRAM_BINARIES");
  // In another order than the context's.
  std::vector<cl_device_id> devices(rig.devices.rbegin(), rig.devices.rend());
  std::reverse(sizes.begin(), sizes.end());
  std::vector<const unsigned char*> given(places.rbegin(), places.rend());
  std::vector<cl_int> states(count, -1);
  cl_int error = CL_SUCCESS;
  cl_program const program =
      clCreateProgramWithBinary(rig.context, static_cast<cl_uint>(count), devices.data(), sizes.data(),
                                given.data(), states.data(), &error);
  require(error, "clCreateProgramWithBinary");
  said("all binaries were taken",
       std::count(states.begin(), states.end(), CL_SUCCESS) == static_cast<long>(count));
  require(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), "clBuildProgram");
  run(rig, program, "from binaries");
}

void linked(const Rig& rig) {
  const char* source =
      "uint next(uint x, uint n); kernel void add(global uint* x, uint n) {"
      " x[get_global_id(0)] = next(x[get_global_id(0)], n); }";
  const char* other = "uint next(uint x, uint n) { return x * 5u + n; }";
  cl_int error = CL_SUCCESS;
  cl_program parts[2] = {clCreateProgramWithSource(rig.context, 1, &source, nullptr, &error),
                         clCreateProgramWithSource(rig.context, 1, &other, nullptr, &error)};
  for (cl_program const part : parts) {
    require(clCompileProgram(part, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
            "clCompileProgram");
  }
  cl_program const program = clLinkProgram(rig.context, 0, nullptr, "", 2, parts, nullptr, nullptr, &error);
  require(error, "clLinkProgram");
  run(rig, program, "linked");
}

void CL_CALLBACK note_build(cl_program, void* data) { tell(data); }

void wrong_programs(const Rig& rig) {
  const char* source = "kernel void broken( {";
  cl_int error = CL_SUCCESS;
  cl_program const program = clCreateProgramWithSource(rig.context, 1, &source, nullptr, &error);
  static std::atomic<bool> told{false};
  std::printf("a wrong program %d\n", clBuildProgram(program, 0, nullptr, "", note_build, &told));
  told.wait(false);
  said("its build's end was told", told);
  bool all = true;
  for (cl_device_id const device : rig.devices) {
    size_t size = 0;
    require(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size), "a log");
    all = all && size > 1;
  }
  said("there is a log for each device", all);
  clCreateKernel(program, "broken", &error);
  std::printf("a kernel of it %d\n", error);
}

void wrong_calls(const Rig& rig) {
  cl_kernel const add = rig.kernel("add");
  cl_mem const memory = rig.buffer(kItems);
  const size_t items = kItems;
  cl_uint value = 0;
  set(add, 0, memory);
  set(add, 1, 1U);
  said("an argument too many is refused",
       clSetKernelArg(add, 2, sizeof value, &value) == CL_INVALID_ARG_INDEX);
  said("one that is too large", clSetKernelArg(add, 1, 8, &items) != CL_SUCCESS);
  said("a launch of no dimension", clEnqueueNDRangeKernel(rig.queues[1], add, 0, nullptr, &items, nullptr, 0,
                                                          nullptr, nullptr) != CL_SUCCESS);
  said("a read beyond the end", clEnqueueReadBuffer(rig.queues[1], memory, CL_TRUE, 0, 5 * kItems, &value, 0,
                                                    nullptr, nullptr) == CL_INVALID_VALUE);
  said("an unmap of what is not mapped",
       clEnqueueUnmapMemObject(rig.queues[1], memory, &value, 0, nullptr, nullptr) == CL_INVALID_VALUE);
  // What was refused has changed nothing.
  std::printf("after all that %08x\n",
              checksum(read_all(rig.queues[0], memory, kItems, {launch(rig.queues[1], add, kItems)})));
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Rig rig;
  of_contexts(rig);
  of_memory(rig);
  run(rig, rig.program, "from source");
  from_binaries(rig);
  linked(rig);
  wrong_programs(rig);
  wrong_calls(rig);
  return 0;
}
