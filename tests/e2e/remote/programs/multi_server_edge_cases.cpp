// Edge cases of contexts over several servers: adjacent maps, objects that are released while commands still need them,
// commands that fail. Prints what is the same with one device.
#include <array>

#include "multi_server_setup.h"

namespace {

constexpr std::size_t kItems = 1024;
constexpr std::size_t kBytes = kItems * sizeof(cl_uint);

// Two maps of one buffer, one of which is unmapped while the other is in use: of the buffer and of its half, by the same
// queue or another, in either order. The buffer is so large that unmapped memory is given back to the system.
void adjacent_maps(const Setup& setup) {
  constexpr std::size_t kMany = std::size_t{1} << 19U;
  constexpr std::size_t kHalf = kMany * sizeof(cl_uint) / 2;
  const kit::Buffer buffer = setup.buffer(kMany);
  const kit::Buffer half = cl.sub_buffer(buffer, kHalf, kHalf);
  const auto map = [&](cl_command_queue queue, cl_mem memory) {
    return cl.map<cl_uint>(queue, memory, CL_MAP_READ | CL_MAP_WRITE, kMany / 2);
  };
  const auto unmap = [&](cl_command_queue queue, cl_mem memory, void* mapped) {
    check(cl.unmap(queue, memory, mapped));
    check(cl.clFinish(queue));
  };
  std::printf("adjacent maps");
  for (cl_uint i = 0; i < 8; ++i) {
    cl_command_queue const first = setup.queues[i % 2];
    cl_command_queue const second = setup.queues[i / 2 % 2];
    cl_uint* const a = map(first, buffer);
    cl_uint* const b = map(second, half);
    a[i] = b[i] = 1000 + i;
    const bool buffer_first = i / 4 == 0;
    if (buffer_first) {
      unmap(second, buffer, a);
    } else {
      unmap(first, half, b);
    }
    std::printf(" %u", buffer_first ? b[i] : a[i]);
    if (buffer_first) {
      unmap(first, half, b);
    } else {
      unmap(second, buffer, a);
    }
    std::printf(" %08x", checksum_of(setup.queues[i % 2], buffer, kMany));
  }
  std::printf("\n");
}

// The program releases everything after it has enqueued a command that waits for its user event.
void early_release(const Setup& setup) {
  kit::Buffer from = setup.buffer(kItems);
  const kit::Buffer to = setup.buffer(kItems);
  kit::Kernel add = setup.kernel("add", from, cl_uint{5});
  check(cl.wait({launch(setup.queues[0], add, kItems)}));
  kit::Queue queue = setup.queue(setup.devices.size() - 1, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  kit::Event gate = setup.user_event();
  kit::Event copied = cl.event();
  check(cl.copy(queue, from, to, kBytes, 0, 0, {gate}, copied.out()));
  from.reset();
  add.reset();
  queue.reset();
  const kit::Buffer next = setup.buffer(kItems);  // at the other one's address, perhaps
  check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
  gate.reset();
  check(cl.wait({copied}));
  std::printf("early release %08x %08x\n", checksum_of(setup.queues[0], to, kItems),
              checksum_of(setup.queues[1], next, kItems));
}

// A write that should overwrite a buffer, and does not, keeps the contents that another device has made. It fails with a
// command before it, or is refused; other commands depend on it, or not.
void failed_overwrite(const Setup& setup, bool is_refused, bool has_successor) {
  const kit::Buffer buffer = setup.buffer(kItems);
  const kit::Buffer other = setup.buffer(kItems);
  const kit::Kernel add = setup.kernel("add", buffer, cl_uint{9});
  check(cl.wait({launch(setup.queues[1], add, kItems)}));
  const kit::Queue queue = setup.queue(0);
  const std::vector<cl_uint> fresh(kItems, 77);
  const kit::Event failing = setup.user_event();
  // All of them are kept: PoCL 3.1 aborts if an event that fails has been released.
  std::array<kit::Event, 3> events;
  events[0] = cl.event();
  check(cl.write(queue, other, kit::Blocking::no, std::span(fresh).first(1), 0, {failing}, events[0].out()));
  const cl_int written =
      cl.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, kBytes, is_refused ? nullptr : fresh.data(), 0,
                              nullptr, (events[1] = cl.event()).out());
  require((written != CL_SUCCESS) == is_refused, "the write is refused as expected");
  cl_event last = events[is_refused ? 0 : 1];
  if (has_successor) last = events[2] = launch(queue, add, kItems, {last});
  check(cl.clSetUserEventStatus(failing, -5));
  require(cl.wait({last}) != CL_SUCCESS, "a command behind one that fails fails");
  std::printf("failed overwrite %08x %08x\n", checksum_of(setup.out_of_order[1], buffer, kItems),
              checksum_of(setup.out_of_order[0], buffer, kItems));
}

enum class Between { marker, barrier, nothing };

// Parts of one buffer are used on an out-of-order queue behind an incomplete user event, then on the same queue without
// it, then on the other queue. Some drivers execute no command before one that waits; others let a marker wait for more
// than its list.
void behind_user_event(const Setup& setup, Between between) {
  const kit::Buffer buffer = setup.buffer(3 * kItems);
  const kit::Kernel add = setup.kernel("add", buffer, cl_uint{4});
  const kit::Event gate = setup.user_event();
  const kit::Event first = cl.marker_event(setup.queues[0]);
  std::vector<kit::Event> events;
  const auto use = [&](cl_command_queue queue, std::size_t third, const kit::Waits& waits) {
    const kit::Buffer part = cl.sub_buffer(buffer, third * kBytes, kBytes);
    check(cl.set_argument(add, 0, part));
    events.push_back(launch(queue, add, kItems, waits));
  };
  use(setup.out_of_order[1], 0, {gate});
  kit::Event middle = cl.event();
  if (between == Between::marker) check(cl.marker(setup.out_of_order[1], {first}, middle.out()));
  if (between == Between::barrier) check(cl.barrier(setup.out_of_order[1], {first}, middle.out()));
  use(setup.out_of_order[1], 1, middle ? kit::Waits{middle} : kit::Waits{});
  use(setup.queues[0], 2, {});
  check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
  std::printf("behind a user event %08x\n",
              checksum_of(setup.queues[0], buffer, 3 * kItems, {events.begin(), events.end()}));
}

// A list of no events that is not null gets the driver's error.
void empty_wait_lists(const Setup& setup) {
  const kit::Buffer buffer = setup.buffer(kItems);
  const kit::Event any = setup.user_event();
  cl_uint value = 0;
  std::printf("empty wait lists %d %d\n",
              cl.clEnqueueReadBuffer(setup.queues[1], buffer, CL_TRUE, 0, 4, &value, 0, any.list(), nullptr),
              cl.clEnqueueMarkerWithWaitList(setup.queues[0], 0, any.list(), nullptr));
}

// A refused argument leaves the one before it on all devices. (Some drivers accept objects of other contexts.)
void object_of_another_context(const Setup& setup) {
  const kit::Context other = cl.context(setup.devices[0]);
  const kit::Buffer foreign = cl.buffer(other, kBytes);
  const kit::Buffer buffer = setup.buffer(kItems);
  const kit::Kernel add = setup.kernel("add", buffer, cl_uint{3});
  if (cl.set_argument(add, 0, foreign) == CL_SUCCESS) check(cl.set_argument(add, 0, buffer));
  const kit::Event first = launch(setup.queues[0], add, kItems);
  const kit::Event second = launch(setup.queues[1], add, kItems, {first});
  std::printf("object of another context %08x\n", checksum_of(setup.queues[0], buffer, kItems, {second}));
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Setup setup;
  adjacent_maps(setup);
  early_release(setup);
  for (int i = 0; i < 4; ++i) failed_overwrite(setup, i % 2 != 0, i / 2 != 0);
  for (const Between between : {Between::marker, Between::barrier, Between::nothing})
    behind_user_event(setup, between);
  empty_wait_lists(setup);
  object_of_another_context(setup);
  return 0;
}
