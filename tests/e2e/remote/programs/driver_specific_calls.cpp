// Calls that drivers answer differently: empty wait lists, device types with bits that mean nothing, calls at a program's
// end, pipes; and the status of a command when a later one has ended. Prints what each call returns. With an argument only
// those of that kind, since some of them crash some drivers.
//
//   driver_specific_calls [lists|types|infos|options|ends|queues|much|many|pipes|order]
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS  // clSetProgramReleaseCallback
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "plain_program.h"

namespace {

using kit::Blocking;

constexpr std::size_t kItems = 64;

const char* const kSource = "kernel void count(global int* out) { out[get_global_id(0)] += 1; }";
const char* const kPipes =
    "kernel void put(write_only pipe int p) { int x = get_global_id(0) * 3; write_pipe(p, &x); }"
    "kernel void take(read_only pipe int p, global int* out) {"
    "  int x = -1; read_pipe(p, &x); out[get_global_id(0)] = x; }";

void say(const char* what, long long value) { std::printf("%s: %lld\n", what, value); }

struct Rig {
  cl_device_id device = cl.device_of();
  kit::Context context = cl.context(device);
  kit::Queue queue = cl.queue(context, device);
  kit::Buffer buffer = cl.buffer(context, std::vector<cl_int>(kItems));
  kit::Program program = cl.build(context, kSource);
  kit::Kernel kernel = cl.kernel(program, "count", buffer);
};

// Not with a list of zero events that is not null: some drivers crash.
void try_launches(const Rig& rig, const cl_event* list) {
  kit::Event event = cl.event();
  const auto launch = [&](cl_event* made) {
    return cl.clEnqueueNDRangeKernel(rig.queue, rig.kernel, 1, nullptr, &kItems, nullptr, 0, list, made);
  };
  say("launch", launch(nullptr));
  say("launch with an event", launch(event.out()));
  if (event) say("its end", cl.wait({event}));
}

// A list that is there with none in it, and events that are there without a list; twice, since what is known
// of the first may decide the second.
void try_lists(const Rig& rig) {
  const cl_command_queue queue = rig.queue;
  const kit::Buffer& buffer = rig.buffer;
  std::array<cl_int, kItems> data{};
  const cl_event none = nullptr;
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& [count, list] : {std::pair<cl_uint, const cl_event*>{0, &none}, {1, nullptr}}) {
      say("events", count);
      if (count == 0) try_launches(rig, list);
      for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
        say("write",
            cl.clEnqueueWriteBuffer(queue, buffer, blocking, 0, 4, data.data(), count, list, nullptr));
        say("read", cl.clEnqueueReadBuffer(queue, buffer, blocking, 0, 4, data.data(), count, list, nullptr));
        cl_int error = CL_SUCCESS;
        void* const mapped =
            cl.clEnqueueMapBuffer(queue, buffer, blocking, CL_MAP_READ, 0, 4, count, list, nullptr, &error);
        say("map", error);
        cl.clFinish(queue);
        if (mapped != nullptr) cl.unmap(queue, buffer, mapped);
      }
      say("copy", cl.clEnqueueCopyBuffer(queue, buffer, buffer, 0, 64, 32, count, list, nullptr));
      say("fill", cl.clEnqueueFillBuffer(queue, buffer, data.data(), 4, 0, 4, count, list, nullptr));
      say("marker", cl.clEnqueueMarkerWithWaitList(queue, count, list, nullptr));
      say("barrier", cl.clEnqueueBarrierWithWaitList(queue, count, list, nullptr));
      say("migrate", cl.clEnqueueMigrateMemObjects(queue, 1, buffer.list(), 0, count, list, nullptr));
      say("wait", cl.clWaitForEvents(count, list));
    }
  }
  cl.clFinish(queue);
  say("launches", cl.read<cl_int>(queue, buffer, kItems)[40]);
}

void CL_CALLBACK program_ended(cl_program, void* data) { std::puts(static_cast<const char*>(data)); }

void try_program_end(const Rig& rig) {
  kit::Program program = cl.build(rig.context, kSource);
  static char first[] = "set first";
  static char second[] = "set second";
  say("end of no program", clSetProgramReleaseCallback(nullptr, program_ended, first));
  say("end of a program", clSetProgramReleaseCallback(program, program_ended, first));
  say("and again", clSetProgramReleaseCallback(program, program_ended, second));
  program.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void try_device_queues(const Rig& rig) {
  cl_command_queue queue = rig.queue;
  say("the default device queue",
      cl.clGetCommandQueueInfo(rig.queue, CL_QUEUE_DEVICE_DEFAULT, sizeof(cl_command_queue),
                               static_cast<void*>(&queue), nullptr));
  say("is there", queue != nullptr ? 1 : 0);
  say("no default device queue", clSetDefaultDeviceCommandQueue(rig.context, rig.device, nullptr));
}

// More data in flight than any window, behind a user event.
void try_much_at_once(const Rig& rig) {
  constexpr std::size_t kMuch = std::size_t{48} << 20U;
  const kit::Event gate = cl.user_event(rig.context);
  std::vector<std::vector<unsigned char>> memory(6, std::vector<unsigned char>(kMuch));
  std::vector<kit::Event> ends;
  const kit::Buffer buffer = cl.buffer(rig.context, kMuch);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].assign(kMuch, static_cast<unsigned char>(i));
    const std::span data(memory[i]);
    cl_event* const end = ends.emplace_back(cl.event()).out();
    say("much", i % 2 == 1 ? cl.read(rig.queue, buffer, Blocking::no, data, 0, {gate}, end)
                           : cl.write<unsigned char>(rig.queue, buffer, Blocking::no, data, 0, {gate}, end));
  }
  say("gate", cl.clSetUserEventStatus(gate, CL_COMPLETE));
  say("ends", cl.wait(kit::Waits(ends.begin(), ends.end())));
  for (const auto& one : memory) say("ends with", one.back());
}

// More commands in flight than a server's window, behind a user event.
void try_many_at_once(const Rig& rig) {
  constexpr cl_uint kMany = 20'000;
  const kit::Event gate = cl.user_event(rig.context);
  check(cl.marker(rig.queue, {gate}));
  for (cl_uint i = 0; i < kMany; ++i)
    check(cl.fill(rig.queue, rig.buffer, i, 1, 0, i == 0 ? kit::Waits{gate} : kit::Waits{}));
  say("gate", cl.clSetUserEventStatus(gate, CL_COMPLETE));
  cl_uint last = 0;
  say("many", cl.read(rig.queue, rig.buffer, Blocking::yes, std::span(&last, 1)));
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
  say("flags", cl.clGetMemObjectInfo(pipe, CL_MEM_FLAGS, sizeof flags, &flags, nullptr));
  say("are", static_cast<long long>(flags));
  say("size", cl.clGetMemObjectInfo(pipe, CL_MEM_SIZE, sizeof size, &size, nullptr));
  say("is", static_cast<long long>(size));
  say("type", cl.clGetMemObjectInfo(pipe, CL_MEM_TYPE, sizeof type, &type, nullptr));
  say("is", type);
}

void pass_through(const Rig& rig, const kit::Memory& pipe) {
  const kit::Program program = cl.build(rig.context, kPipes, "-cl-std=CL2.0");
  const kit::Kernel put = cl.kernel(program, "put");
  const kit::Kernel take = cl.kernel(program, "take");
  say("a buffer for a pipe", cl.set_argument(put, 0, rig.buffer));
  say("a pipe", cl.set_argument(put, 0, pipe));
  say("a pipe", cl.set_argument(take, 0, pipe));
  say("a buffer", cl.set_argument(take, 1, rig.buffer));
  for (cl_kernel const kernel : {put.get(), take.get()})
    say("launch", cl.launch(rig.queue, kernel, {kItems}));
  std::array<cl_int, kItems> data{};
  say("read", cl.read(rig.queue, rig.buffer, Blocking::yes, std::span<cl_int>(data)));
  say("the sum of what came through", std::accumulate(data.begin(), data.end(), 0LL));
}

void try_pipes(const Rig& rig) {
  cl_bool has_pipes = CL_FALSE;
  cl.clGetDeviceInfo(rig.device, CL_DEVICE_PIPE_SUPPORT, sizeof has_pipes, &has_pipes, nullptr);
  say("has pipes", has_pipes);
  for (const cl_device_info info :
       {CL_DEVICE_MAX_PIPE_ARGS, CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, CL_DEVICE_PIPE_MAX_PACKET_SIZE}) {
    cl_uint number = 0;
    say("of a device", cl.clGetDeviceInfo(rig.device, info, sizeof number, &number, nullptr));
    say("is", number);
  }
  cl_int error = CL_SUCCESS;
  const kit::Memory pipe = cl.own(clCreatePipe(rig.context, 0, sizeof(cl_int), kItems, nullptr, &error));
  say("a pipe", error);
  clCreatePipe(nullptr, 0, sizeof(cl_int), kItems, nullptr, &error);
  say("a pipe in no context", error);
  if (!pipe) return;
  clCreatePipe(rig.context, 0, 0, 0, nullptr, &error);
  say("a pipe of nothing", error);
  say_infos(pipe);
  pass_through(rig, pipe);
}

void try_exec_infos(cl_kernel kernel) {
  void* none = nullptr;
  say("no pointers", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, nullptr));
  say("an info that there is not", clSetKernelExecInfo(kernel, 1, sizeof none, &none));
}

// Some drivers keep the arguments' names only of a program that was built without options, not with empty ones.
void try_options(const Rig& rig) {
  for (const char* const options : {static_cast<const char*>(nullptr), ""}) {
    const char* text = kSource;
    const kit::Program program = cl.own(clCreateProgramWithSource(rig.context, 1, &text, nullptr, nullptr));
    say("build", clBuildProgram(program, 0, nullptr, options, nullptr, nullptr));
    const kit::Kernel kernel = cl.kernel(program, "count");
    size_t size = 0;
    say("name", clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_NAME, 0, nullptr, &size));
    say("is long", static_cast<long long>(size));
    const kit::Program compiled = cl.own(clCreateProgramWithSource(rig.context, 1, &text, nullptr, nullptr));
    say("compile", clCompileProgram(compiled, 0, nullptr, options, 0, nullptr, nullptr, nullptr, nullptr));
    cl_int error = CL_SUCCESS;
    cl_program input = compiled;
    const kit::Program linked =
        cl.own(clLinkProgram(rig.context, 0, nullptr, options, 1, &input, nullptr, nullptr, &error));
    say("link", error);
  }
}

// When a command has ended, so have the commands that it waited for, on whatever queue.
void try_order(const Rig& rig) {
  constexpr int kRounds = 300;
  const kit::Queue first = cl.queue(rig.context, rig.device, CL_QUEUE_PROFILING_ENABLE);
  const kit::Queue second = cl.queue(rig.context, rig.device, CL_QUEUE_PROFILING_ENABLE);
  int running = 0;
  int untimed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const kit::Event before = cl.launch_event(first, rig.kernel, {kItems});
    const kit::Event behind = cl.marker_event(second, {before});
    check(cl.clFlush(first));
    check(round % 2 == 0 ? cl.clFinish(second) : cl.wait({behind}));
    cl_ulong time = 0;
    // Each is queried first in half of the rounds, since the answer to one query may update the other's status.
    if (round / 2 % 2 == 0) static_cast<void>(cl.status(before));
    untimed += cl.clGetEventProfilingInfo(before, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr) ==
                       CL_SUCCESS
                   ? 0
                   : 1;
    running += cl.status(before) == CL_COMPLETE ? 0 : 1;
  }
  say("still running", running);
  say("without times", untimed);
}

// Drivers ignore bits that mean nothing, next to one that does: some programs extend the sign of CL_DEVICE_TYPE_ALL.
void try_device_types(const Rig& rig) {
  const auto platform = cl.info<cl_platform_id>(rig.device, CL_DEVICE_PLATFORM);
  const cl_device_type type = cl.info<cl_device_type>(rig.device, CL_DEVICE_TYPE);
  constexpr cl_device_type kBeyond = cl_device_type{1} << 32U;
  for (const cl_device_type wanted : {type, cl_device_type{CL_DEVICE_TYPE_ALL}, ~cl_device_type{0},
                                      type | 1U << 5U, type | kBeyond, CL_DEVICE_TYPE_ALL | kBeyond}) {
    cl_uint found = 0;
    say("devices of a type", clGetDeviceIDs(platform, wanted, 0, nullptr, &found));
    say("so many", found);
    cl_int error = CL_SUCCESS;
    const std::array<cl_context_properties, 3> on_platform{
        CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform), 0};
    const kit::Context context =
        cl.own(clCreateContextFromType(on_platform.data(), wanted, nullptr, nullptr, &error));
    say("a context of the type", error);
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto is_wanted = [&](const char* kind) { return count < 2 || std::strcmp(arguments[1], kind) == 0; };
  const Rig rig;
  if (is_wanted("lists")) try_lists(rig);
  if (is_wanted("types")) try_device_types(rig);
  if (is_wanted("infos")) try_exec_infos(rig.kernel);
  if (is_wanted("options")) try_options(rig);
  if (is_wanted("ends")) try_program_end(rig);
  if (is_wanted("queues")) try_device_queues(rig);
  if (is_wanted("much")) try_much_at_once(rig);
  if (is_wanted("many")) try_many_at_once(rig);
  if (is_wanted("pipes")) try_pipes(rig);
  if (is_wanted("order")) try_order(rig);
  return 0;
}
