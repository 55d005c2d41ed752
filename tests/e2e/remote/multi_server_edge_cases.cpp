// Where contexts over several servers are easily wrong: maps that lie beside each other, objects that are let
// go while commands still need them, commands that come to nothing. Prints what is the same with one device.
#include "multi_server_setup.h"

namespace {

constexpr std::size_t kFew = 1024;
constexpr std::size_t kBytes = kFew * sizeof(cl_uint);

cl_mem part_of(cl_mem memory, std::size_t from, std::size_t bytes) {
  const cl_buffer_region half{from, bytes};
  cl_int error = CL_SUCCESS;
  cl_mem const made = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
  require(error, "clCreateSubBuffer");
  return made;
}

cl_uint* map(cl_command_queue queue, cl_mem memory, std::size_t bytes) {
  cl_int error = CL_SUCCESS;
  void* const place = clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                         nullptr, nullptr, &error);
  require(error, "clEnqueueMapBuffer");
  return static_cast<cl_uint*>(place);
}

void unmap(cl_command_queue queue, cl_mem memory, void* place) {
  require(clEnqueueUnmapMemObject(queue, memory, place, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  require(clFinish(queue), "clFinish");
}

// Two maps of one buffer, of which one goes while the other is in use: of the buffer and of its half, by the
// same queue or another, in either order. It is so large that memory which is not mapped is given back.
void maps_beside(const Rig& rig) {
  constexpr std::size_t kMany = std::size_t{1} << 19U;
  constexpr std::size_t kHalf = kMany * sizeof(cl_uint) / 2;
  cl_mem const memory = rig.buffer(kMany);
  cl_mem const half = part_of(memory, kHalf, kHalf);
  std::printf("maps beside");
  for (cl_uint i = 0; i < 8; ++i) {
    cl_command_queue const first = rig.queues[i % 2];
    cl_command_queue const second = rig.queues[i / 2 % 2];
    cl_uint* const a = map(first, memory, kHalf);
    cl_uint* const b = map(second, half, kHalf);
    a[i] = b[i] = 1000 + i;
    const bool is_first = i / 4 == 0;
    unmap(is_first ? second : first, is_first ? memory : half, is_first ? a : b);
    std::printf(" %u", is_first ? b[i] : a[i]);
    unmap(is_first ? first : second, is_first ? half : memory, is_first ? b : a);
    std::printf(" %08x", checksum(read_all(rig.queues[i % 2], memory, kMany)));
  }
  std::printf("\n");
  clReleaseMemObject(half);
  clReleaseMemObject(memory);
}

// The program lets go of everything when it has enqueued what waits for its event.
void let_go_early(const Rig& rig) {
  cl_kernel const add = rig.kernel("add");
  cl_mem const from = rig.buffer(kFew);
  cl_mem const to = rig.buffer(kFew);
  set(add, 0, from);
  set(add, 1, 5U);
  cl_event first = launch(rig.queues[0], add, kFew);
  require(clWaitForEvents(1, &first), "clWaitForEvents");
  cl_int error = CL_SUCCESS;
  cl_command_queue const queue =
      clCreateCommandQueue(rig.context, rig.devices.back(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
  require(error, "clCreateCommandQueue");
  cl_event const late = rig.user_event();
  cl_event copied = nullptr;
  require(clEnqueueCopyBuffer(queue, from, to, 0, 0, kBytes, 1, &late, &copied), "clEnqueueCopyBuffer");
  clReleaseMemObject(from);
  clReleaseKernel(add);
  clReleaseCommandQueue(queue);
  cl_mem const next = rig.buffer(kFew);  // where the other one was, perhaps
  require(clSetUserEventStatus(late, CL_COMPLETE), "clSetUserEventStatus");
  clReleaseEvent(late);
  require(clWaitForEvents(1, &copied), "clWaitForEvents");
  std::printf("let go early %08x %08x\n", checksum(read_all(rig.queues[0], to, kFew)),
              checksum(read_all(rig.queues[1], next, kFew)));
}

// What was to overwrite a buffer, and does not, leaves the contents that another device has made. It fails
// with a command before it, or is not even taken; other commands were to build on it, or not.
void not_overwritten(const Rig& rig, bool is_refused, bool is_built_on) {
  cl_kernel const add = rig.kernel("add");
  cl_mem const memory = rig.buffer(kFew);
  cl_mem const other = rig.buffer(kFew);
  set(add, 0, memory);
  set(add, 1, 9U);
  cl_event made = launch(rig.queues[1], add, kFew);
  require(clWaitForEvents(1, &made), "clWaitForEvents");
  cl_int error = CL_SUCCESS;
  cl_command_queue const queue = clCreateCommandQueue(rig.context, rig.devices[0], 0, &error);
  require(error, "clCreateCommandQueue");
  const std::vector<cl_uint> fresh(kFew, 77);
  cl_event const bad = rig.user_event();
  cl_event last = nullptr;
  require(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, 4, fresh.data(), 1, &bad, &last), "a write");
  cl_event event = nullptr;
  const cl_int written = clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, kBytes,
                                              is_refused ? nullptr : fresh.data(), 0, nullptr, &event);
  require_true((written != CL_SUCCESS) == is_refused, "the write of everything");
  if (!is_refused) last = event;
  if (is_built_on) last = launch(queue, add, kFew, {last});
  require(clSetUserEventStatus(bad, -5), "clSetUserEventStatus");
  require_true(clWaitForEvents(1, &last) != CL_SUCCESS, "what comes after a command that fails");
  std::printf("not overwritten %08x %08x\n", checksum(read_all(rig.loose[1], memory, kFew)),
              checksum(read_all(rig.loose[0], memory, kFew)));
}

enum class Between { marker, barrier, nothing };

// Parts of one buffer are used on a queue out of order behind an event that the program has yet to set, then
// on the same queue without it, then on the other queue. Some drivers let nothing overtake what waits for the
// event; others let a marker wait for more than its list.
void behind_late_event(const Rig& rig, Between between) {
  cl_mem const memory = rig.buffer(3 * kFew);
  cl_kernel const add = rig.kernel("add");
  set(add, 1, 4U);
  cl_event const late = rig.user_event();
  cl_event first = nullptr;
  require(clEnqueueMarkerWithWaitList(rig.queues[0], 0, nullptr, &first), "clEnqueueMarkerWithWaitList");
  std::vector<cl_event> events;
  const auto use = [&](cl_command_queue queue, std::size_t third, const std::vector<cl_event>& waits) {
    cl_mem const part = part_of(memory, third * kBytes, kBytes);
    set(add, 0, part);
    events.push_back(launch(queue, add, kFew, waits));
    clReleaseMemObject(part);
  };
  use(rig.loose[1], 0, {late});
  std::vector<cl_event> waits;
  if (between != Between::nothing) {
    const bool is_barrier = between == Between::barrier;
    waits.resize(1);
    require((is_barrier ? clEnqueueBarrierWithWaitList : clEnqueueMarkerWithWaitList)(rig.loose[1], 1, &first,
                                                                                      waits.data()),
            "a marker or barrier");
  }
  use(rig.loose[1], 1, waits);
  use(rig.queues[0], 2, {});
  require(clSetUserEventStatus(late, CL_COMPLETE), "clSetUserEventStatus");
  std::printf("behind late event %08x\n", checksum(read_all(rig.queues[0], memory, 3 * kFew, events)));
}

// What a driver says of a list of no events that is not null, it says here, too.
void lists_of_no_events(const Rig& rig) {
  cl_mem const memory = rig.buffer(kFew);
  cl_event const any = rig.user_event();
  cl_uint value = 0;
  std::printf("lists of no events %d %d\n",
              clEnqueueReadBuffer(rig.queues[1], memory, CL_TRUE, 0, 4, &value, 0, &any, nullptr),
              clEnqueueMarkerWithWaitList(rig.queues[0], 0, &any, nullptr));
}

// An argument that cannot be had leaves the one before it on all devices. (Some drivers take objects of other
// contexts.)
void of_another_context(const Rig& rig) {
  cl_int error = CL_SUCCESS;
  cl_context const other = clCreateContext(nullptr, 1, rig.devices.data(), nullptr, nullptr, &error);
  require(error, "clCreateContext");
  cl_mem const foreign = clCreateBuffer(other, CL_MEM_READ_WRITE, kBytes, nullptr, &error);
  require(error, "clCreateBuffer");
  cl_kernel const add = rig.kernel("add");
  cl_mem const memory = rig.buffer(kFew);
  set(add, 0, memory);
  set(add, 1, 3U);
  if (clSetKernelArg(add, 0, sizeof foreign, &foreign) == CL_SUCCESS) set(add, 0, memory);
  cl_event first = launch(rig.queues[0], add, kFew);
  cl_event second = launch(rig.queues[1], add, kFew, {first});
  std::printf("of another context %08x\n", checksum(read_all(rig.queues[0], memory, kFew, {second})));
  clReleaseMemObject(foreign);
  clReleaseContext(other);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Rig rig;
  maps_beside(rig);
  let_go_early(rig);
  for (int i = 0; i < 4; ++i) not_overwritten(rig, i % 2 != 0, i / 2 != 0);
  for (const Between between : {Between::marker, Between::barrier, Between::nothing})
    behind_late_event(rig, between);
  lists_of_no_events(rig);
  of_another_context(rig);
  return 0;
}
