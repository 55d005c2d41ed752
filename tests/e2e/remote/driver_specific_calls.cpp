// Calls that drivers answer differently: empty wait lists, calls at a program's end, pipes; and the status of a command when
// a later one has ended. Prints what each call returns. With an argument only those of that kind, since some of them crash
// some drivers.
//
//   driver_specific_calls [lists|infos|ends|queues|much|many|pipes|order]
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS  // clSetProgramReleaseCallback
#include <CL/cl.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kItems = 64;
constexpr std::size_t kBytes = kItems * sizeof(cl_int);

const char* const kSource = "kernel void count(global int* out) { out[get_global_id(0)] += 1; }";
const char* const kPipes =
    "kernel void put(write_only pipe int p) { int x = get_global_id(0) * 3; write_pipe(p, &x); }"
    "kernel void take(read_only pipe int p, global int* out) {"
    "  int x = -1; read_pipe(p, &x); out[get_global_id(0)] = x; }";

struct Rig {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;
};

void say(const char* what, long long value) { std::printf("%s: %lld\n", what, value); }

void require(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, error);
  std::exit(1);
}

Rig make_rig() {
  Rig rig;
  cl_platform_id platform = nullptr;
  cl_int error = CL_SUCCESS;
  require(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &rig.device, nullptr), "clGetDeviceIDs");
  rig.context = clCreateContext(nullptr, 1, &rig.device, nullptr, nullptr, &error);
  require(error, "clCreateContext");
  rig.queue = clCreateCommandQueue(rig.context, rig.device, 0, &error);
  require(error, "clCreateCommandQueue");
  rig.buffer = clCreateBuffer(rig.context, CL_MEM_READ_WRITE, kBytes, nullptr, &error);
  require(error, "clCreateBuffer");
  const cl_int zero = 0;
  require(clEnqueueFillBuffer(rig.queue, rig.buffer, &zero, sizeof zero, 0, kBytes, 0, nullptr, nullptr),
          "clEnqueueFillBuffer");
  return rig;
}

cl_program build(const Rig& rig, const char* source, const char* options) {
  cl_program const program = clCreateProgramWithSource(rig.context, 1, &source, nullptr, nullptr);
  require(clBuildProgram(program, 0, nullptr, options, nullptr, nullptr), "clBuildProgram");
  return program;
}

// Not with a list of zero events that is not null: some drivers crash.
void try_launches(const Rig& rig, cl_kernel kernel, const cl_event* list) {
  const std::size_t items = kItems;
  cl_event event = nullptr;
  say("launch", clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &items, nullptr, 0, list, nullptr));
  say("launch with an event",
      clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &items, nullptr, 0, list, &event));
  if (event != nullptr) say("its end", clWaitForEvents(1, &event));
}

// A list that is there with none in it, and events that are there without a list; twice, since what is known
// of the first may decide the second.
void try_lists(const Rig& rig, cl_kernel kernel) {
  std::array<cl_int, kItems> data{};
  const cl_event none = nullptr;
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& [count, list] : {std::pair<cl_uint, const cl_event*>{0, &none}, {1, nullptr}}) {
      say("events", count);
      if (count == 0) try_launches(rig, kernel, list);
      for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
        say("write",
            clEnqueueWriteBuffer(rig.queue, rig.buffer, blocking, 0, 4, data.data(), count, list, nullptr));
        say("read",
            clEnqueueReadBuffer(rig.queue, rig.buffer, blocking, 0, 4, data.data(), count, list, nullptr));
        cl_int error = CL_SUCCESS;
        void* const mapped = clEnqueueMapBuffer(rig.queue, rig.buffer, blocking, CL_MAP_READ, 0, 4, count,
                                                list, nullptr, &error);
        say("map", error);
        clFinish(rig.queue);
        if (mapped != nullptr) clEnqueueUnmapMemObject(rig.queue, rig.buffer, mapped, 0, nullptr, nullptr);
      }
      say("copy", clEnqueueCopyBuffer(rig.queue, rig.buffer, rig.buffer, 0, 64, 32, count, list, nullptr));
      say("fill", clEnqueueFillBuffer(rig.queue, rig.buffer, data.data(), 4, 0, 4, count, list, nullptr));
      say("marker", clEnqueueMarkerWithWaitList(rig.queue, count, list, nullptr));
      say("barrier", clEnqueueBarrierWithWaitList(rig.queue, count, list, nullptr));
      say("migrate", clEnqueueMigrateMemObjects(rig.queue, 1, &rig.buffer, 0, count, list, nullptr));
      say("wait", clWaitForEvents(count, list));
    }
  }
  clFinish(rig.queue);
  require(clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kBytes, data.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  say("launches", data[40]);
}

void CL_CALLBACK program_ended(cl_program, void* data) { std::puts(static_cast<const char*>(data)); }

void try_program_end(const Rig& rig) {
  cl_program const program = build(rig, kSource, "");
  static char first[] = "set first";
  static char second[] = "set second";
  say("end of no program", clSetProgramReleaseCallback(nullptr, program_ended, first));
  say("end of a program", clSetProgramReleaseCallback(program, program_ended, first));
  say("and again", clSetProgramReleaseCallback(program, program_ended, second));
  clReleaseProgram(program);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void try_device_queues(const Rig& rig) {
  cl_command_queue queue = rig.queue;
  say("the default device queue",
      clGetCommandQueueInfo(rig.queue, CL_QUEUE_DEVICE_DEFAULT, sizeof(cl_command_queue),
                            static_cast<void*>(&queue), nullptr));
  say("is there", queue != nullptr ? 1 : 0);
  say("no default device queue", clSetDefaultDeviceCommandQueue(rig.context, rig.device, nullptr));
}

// More data in flight than any window, behind a user event.
void try_much_at_once(const Rig& rig) {
  constexpr std::size_t kMuch = std::size_t{48} << 20U;
  cl_int error = CL_SUCCESS;
  cl_event const gate = clCreateUserEvent(rig.context, &error);
  std::vector<std::vector<unsigned char>> memory(6, std::vector<unsigned char>(kMuch));
  std::vector<cl_event> ends(memory.size());
  cl_mem const buffer = clCreateBuffer(rig.context, CL_MEM_READ_WRITE, kMuch, nullptr, &error);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].assign(kMuch, static_cast<unsigned char>(i));
    const bool reads = i % 2 == 1;
    say("much", reads ? clEnqueueReadBuffer(rig.queue, buffer, CL_FALSE, 0, kMuch, memory[i].data(), 1, &gate,
                                            &ends[i])
                      : clEnqueueWriteBuffer(rig.queue, buffer, CL_FALSE, 0, kMuch, memory[i].data(), 1,
                                             &gate, &ends[i]));
  }
  say("gate", clSetUserEventStatus(gate, CL_COMPLETE));
  say("ends", clWaitForEvents(static_cast<cl_uint>(ends.size()), ends.data()));
  for (const auto& one : memory) say("ends with", one.back());
}

// More commands in flight than a server's window, behind a user event.
void try_many_at_once(const Rig& rig) {
  constexpr cl_uint kMany = 20'000;
  cl_int error = CL_SUCCESS;
  cl_event gate = clCreateUserEvent(rig.context, &error);
  require(clEnqueueMarkerWithWaitList(rig.queue, 1, &gate, nullptr), "clEnqueueMarkerWithWaitList");
  for (cl_uint i = 0; i < kMany; ++i) {
    require(clEnqueueFillBuffer(rig.queue, rig.buffer, &i, sizeof i, 0, sizeof i, i == 0 ? 1 : 0,
                                i == 0 ? &gate : nullptr, nullptr),
            "clEnqueueFillBuffer");
  }
  say("gate", clSetUserEventStatus(gate, CL_COMPLETE));
  cl_uint last = 0;
  say("many",
      clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, sizeof last, &last, 0, nullptr, nullptr));
  say("the last", last);
}

void say_infos(cl_mem pipe) {
  cl_uint number = 0;
  size_t size = 0;
  cl_mem_flags flags = 0;
  cl_mem_object_type type = 0;
  say("packet size", clGetPipeInfo(pipe, CL_PIPE_PACKET_SIZE, sizeof number, &number, &size));
  say("is", number);
  say("packets", clGetPipeInfo(pipe, CL_PIPE_MAX_PACKETS, sizeof number, &number, nullptr));
  say("are", number);
  say("a wrong size", clGetPipeInfo(pipe, CL_PIPE_MAX_PACKETS, 1, &number, nullptr));
  say("nonsense", clGetPipeInfo(pipe, CL_MEM_SIZE, sizeof size, &size, nullptr));
  say("flags", clGetMemObjectInfo(pipe, CL_MEM_FLAGS, sizeof flags, &flags, nullptr));
  say("are", static_cast<long long>(flags));
  say("size", clGetMemObjectInfo(pipe, CL_MEM_SIZE, sizeof size, &size, nullptr));
  say("is", static_cast<long long>(size));
  say("type", clGetMemObjectInfo(pipe, CL_MEM_TYPE, sizeof type, &type, nullptr));
  say("is", type);
}

void pass_through(const Rig& rig, cl_mem pipe) {
  cl_program const program = build(rig, kPipes, "-cl-std=CL2.0");
  cl_kernel const put = clCreateKernel(program, "put", nullptr);
  cl_kernel const take = clCreateKernel(program, "take", nullptr);
  say("a buffer for a pipe", clSetKernelArg(put, 0, sizeof rig.buffer, &rig.buffer));
  say("a pipe", clSetKernelArg(put, 0, sizeof pipe, &pipe));
  say("a pipe", clSetKernelArg(take, 0, sizeof pipe, &pipe));
  say("a buffer", clSetKernelArg(take, 1, sizeof rig.buffer, &rig.buffer));
  const std::size_t items = kItems;
  for (cl_kernel const kernel : {put, take}) {
    say("launch",
        clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr));
  }
  std::array<cl_int, kItems> data{};
  say("read",
      clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kBytes, data.data(), 0, nullptr, nullptr));
  long long sum = 0;
  for (const cl_int one : data) sum += one;
  say("the sum of what came through", sum);
}

void try_pipes(const Rig& rig) {
  cl_bool has_pipes = CL_FALSE;
  clGetDeviceInfo(rig.device, CL_DEVICE_PIPE_SUPPORT, sizeof has_pipes, &has_pipes, nullptr);
  say("has pipes", has_pipes);
  for (const cl_device_info info :
       {CL_DEVICE_MAX_PIPE_ARGS, CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, CL_DEVICE_PIPE_MAX_PACKET_SIZE}) {
    cl_uint number = 0;
    say("of a device", clGetDeviceInfo(rig.device, info, sizeof number, &number, nullptr));
    say("is", number);
  }
  cl_int error = CL_SUCCESS;
  cl_mem const pipe = clCreatePipe(rig.context, 0, sizeof(cl_int), kItems, nullptr, &error);
  say("a pipe", error);
  clCreatePipe(nullptr, 0, sizeof(cl_int), kItems, nullptr, &error);
  say("a pipe in no context", error);
  if (pipe == nullptr) return;
  clCreatePipe(rig.context, 0, 0, 0, nullptr, &error);
  say("a pipe of nothing", error);
  say_infos(pipe);
  pass_through(rig, pipe);
  clReleaseMemObject(pipe);
}

void try_exec_infos(cl_kernel kernel) {
  void* none = nullptr;
  say("no pointers", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, nullptr));
  say("an info that there is not", clSetKernelExecInfo(kernel, 1, sizeof none, &none));
}

cl_command_queue profiling_queue(const Rig& rig) {
  cl_int error = CL_SUCCESS;
  cl_command_queue const queue =
      clCreateCommandQueue(rig.context, rig.device, CL_QUEUE_PROFILING_ENABLE, &error);
  require(error, "clCreateCommandQueue");
  return queue;
}

// When a command has ended, so have the commands that it waited for, on whatever queue.
void try_order(const Rig& rig, cl_kernel kernel) {
  constexpr int kRounds = 300;
  const std::array<cl_command_queue, 2> queues{profiling_queue(rig), profiling_queue(rig)};
  const std::size_t items = kItems;
  int running = 0;
  int untimed = 0;
  for (int round = 0; round < kRounds; ++round) {
    cl_event before = nullptr;
    cl_event behind = nullptr;
    require(clEnqueueNDRangeKernel(queues[0], kernel, 1, nullptr, &items, nullptr, 0, nullptr, &before),
            "clEnqueueNDRangeKernel");
    require(clEnqueueMarkerWithWaitList(queues[1], 1, &before, &behind), "clEnqueueMarkerWithWaitList");
    require(clFlush(queues[0]), "clFlush");
    require(round % 2 == 0 ? clFinish(queues[1]) : clWaitForEvents(1, &behind), "wait");
    cl_ulong time = 0;
    cl_int status = CL_QUEUED;
    const auto times = [&] {
      return clGetEventProfilingInfo(before, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
    };
    const auto ask = [&] {
      clGetEventInfo(before, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    };
    // Each is queried first in half of the rounds, since the answer to one query may update the other's status.
    if (round / 2 % 2 == 0) ask();
    untimed += times() == CL_SUCCESS ? 0 : 1;
    ask();
    running += status == CL_COMPLETE ? 0 : 1;
    clReleaseEvent(before);
    clReleaseEvent(behind);
  }
  say("still running", running);
  say("without times", untimed);
  for (cl_command_queue const queue : queues) clReleaseCommandQueue(queue);
}

}  // namespace

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto is_wanted = [&](const char* kind) { return count < 2 || std::strcmp(arguments[1], kind) == 0; };
  const Rig rig = make_rig();
  cl_program const program = build(rig, kSource, "");
  cl_kernel const kernel = clCreateKernel(program, "count", nullptr);
  require(clSetKernelArg(kernel, 0, sizeof rig.buffer, &rig.buffer), "clSetKernelArg");
  if (is_wanted("lists")) try_lists(rig, kernel);
  if (is_wanted("infos")) try_exec_infos(kernel);
  if (is_wanted("ends")) try_program_end(rig);
  if (is_wanted("queues")) try_device_queues(rig);
  if (is_wanted("much")) try_much_at_once(rig);
  if (is_wanted("many")) try_many_at_once(rig);
  if (is_wanted("pipes")) try_pipes(rig);
  if (is_wanted("order")) try_order(rig, kernel);
  return 0;
}
