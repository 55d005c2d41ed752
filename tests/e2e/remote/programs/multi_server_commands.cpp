// One context with two queues, on devices of two servers if there are two: the effects of commands on either on memory, in
// any order that events impose. Prints results that are the same with one device.
#include "multi_server_setup.h"
#include "tests/kit/threads.h"

namespace {

constexpr std::size_t kItems = 300'001;  // more than one transfer between servers carries
constexpr std::size_t kFew = 1024;
constexpr std::size_t kFewBytes = kFew * sizeof(cl_uint);

// An out-of-order queue for each `every`-th number, else an in-order one; of either device in turn.
cl_command_queue queue_for(const Setup& setup, cl_uint number, cl_uint every) {
  return number % every == 0 ? setup.out_of_order[number % 2] : setup.queues[number % 2];
}

// Each launch needs the contents that the one before made on the other device.
void alternating_devices(const Setup& setup) {
  const kit::Buffer buffer = setup.buffer(kItems);
  const kit::Kernel add = setup.kernel("add", buffer);
  kit::Event last;
  for (cl_uint i = 0; i < 20; ++i) {
    check(cl.set_argument(add, 1, i));
    last = launch(queue_for(setup, i, 5), add, kItems, last ? kit::Waits{last} : kit::Waits{});
  }
  std::printf("alternating devices %08x\n", checksum_of(setup.queues[1], buffer, kItems, {last}));
  check(cl.clFinish(setup.queues[0]));
}

// Halves of one buffer on two devices at once, then all of it on one.
void halves(const Setup& setup) {
  const kit::Buffer buffer = setup.buffer(2 * kFew);
  const std::array<kit::Kernel, 2> kernels{setup.kernel("add"), setup.kernel("add")};
  std::vector<kit::Event> events;
  for (cl_uint round = 0; round < 4; ++round) {
    for (cl_uint i = 0; i < 2; ++i) {
      const kit::Buffer half = cl.sub_buffer(buffer, i * kFewBytes, kFewBytes);
      check(cl.set_arguments(kernels[i], half, i + round));
      events.push_back(launch(setup.queues[i], kernels[i], kFew));
    }
  }
  std::printf("halves %08x\n",
              checksum_of(setup.queues[0], buffer, 2 * kFew, {events.begin(), events.end()}));
}

// The program completes a user event after it has written what the waiting command is to find.
void user_event(const Setup& setup, bool in_order) {
  const kit::Buffer buffer = setup.buffer(kFew);
  const kit::Buffer other = setup.buffer(kFew);
  const kit::Kernel add = setup.kernel("add", buffer, cl_uint{7});
  const kit::Event gate = setup.user_event();
  cl_command_queue const waiting = in_order ? setup.queues[1] : setup.out_of_order[1];
  const kit::Event last = launch(waiting, add, kFew, {gate});
  kit::Event copied = cl.event();  // behind it on an in-order queue, or by its event
  check(cl.copy(waiting, buffer, other, kFewBytes, 0, 0, in_order ? kit::Waits{} : kit::Waits{last},
                copied.out()));
  check(cl.set_argument(add, 1, cl_uint{100}));
  check(cl.wait({launch(setup.queues[0], add, kFew)}));
  require(cl.status(last) > CL_COMPLETE, "a command that waits for an event has not run");
  check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
  std::printf("user event %08x", checksum_of(setup.queues[0], buffer, kFew, {last}));
  std::printf(" %08x\n", checksum_of(setup.out_of_order[0], other, kFew, {copied}));
}

// A command on an out-of-order queue that does not wait for an event must not, or the program could not complete it.
void independent_commands(const Setup& setup) {
  const kit::Buffer a = setup.buffer(kFew);
  const kit::Buffer b = setup.buffer(kFew);
  const kit::Kernel add = setup.kernel("add", a, cl_uint{9});
  const kit::Event gate = setup.user_event();
  const kit::Event waiting = launch(setup.out_of_order[1], add, kFew, {gate});
  check(cl.set_argument(add, 0, b));
  const kit::Event first = launch(setup.out_of_order[0], add, kFew);
  check(cl.wait({launch(setup.out_of_order[1], add, kFew, {first})}));
  // Some drivers let a marker wait for more than its list.
  const kit::Event marker = cl.marker_event(setup.out_of_order[1], {first});
  check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
  check(cl.wait({marker}));
  std::printf("independent commands %08x", checksum_of(setup.queues[0], b, kFew));
  std::printf(" %08x\n", checksum_of(setup.queues[0], a, kFew, {waiting}));
}

// A failed event fails the commands that wait for it, on any device, and the contents stay.
void failed_event(const Setup& setup) {
  const kit::Buffer buffer = setup.buffer(kFew);
  const kit::Kernel add = setup.kernel("add", buffer, cl_uint{3});
  const kit::Event good = launch(setup.queues[1], add, kFew);
  const kit::Event failing = setup.user_event();
  const kit::Event first = launch(setup.out_of_order[0], add, kFew, {good, failing});
  const kit::Event second = launch(setup.out_of_order[1], add, kFew, {first});
  check(cl.clSetUserEventStatus(failing, -77));
  const bool failed = cl.wait({second}) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  std::printf("failed event %d %d %d", failed ? 1 : 0, cl.status(first) < 0 ? 1 : 0,
              cl.status(second) < 0 ? 1 : 0);
  std::printf(" %08x\n", checksum_of(setup.queues[0], buffer, kFew));
}

void maps(const Setup& setup) {
  const kit::Buffer buffer = setup.buffer(kFew);
  for (cl_uint i = 0; i < 4; ++i) {
    auto* const values = cl.map<cl_uint>(setup.queues[i % 2], buffer, CL_MAP_READ | CL_MAP_WRITE, 200, 400);
    require(cl.info<cl_uint>(buffer, CL_MEM_MAP_COUNT) == 1, "there is one map");
    for (cl_uint k = 0; k < 200; ++k) values[k] = values[k] * 5 + k + i;
    kit::Event unmapped = cl.event();  // by the same queue, and by the other one
    check(cl.unmap(setup.queues[i / 2], buffer, values, {}, unmapped.out()));
    check(cl.wait({unmapped}));
  }
  std::printf("maps %08x\n", checksum_of(setup.queues[1], buffer, kFew));
  std::vector<cl_uint> host(kFew, 5);
  const kit::Buffer over_host = cl.buffer(setup.context, kFewBytes, CL_MEM_USE_HOST_PTR, host.data());
  const kit::Kernel add = setup.kernel("add", over_host, cl_uint{2});
  const kit::Event done = launch(setup.queues[1], add, kFew);
  const auto* const mapped = cl.map<cl_uint>(setup.queues[0], over_host, CL_MAP_READ, kFew, 0, {done});
  require(mapped == host.data(), "the map is the program's own memory");
  std::printf("host memory %08x\n", checksum(host));
  check(cl.unmap(setup.queues[0], over_host, mapped));
  check(cl.clFinish(setup.queues[0]));
}

void images(const Setup& setup) {
  constexpr std::size_t kWidth = 129;
  constexpr std::size_t kHeight = 67;
  const std::size_t origin[3] = {};
  const std::size_t region[3] = {kWidth, kHeight, 1};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = kWidth;
  shape.image_height = kHeight;
  constexpr cl_image_format kFormat{CL_RGBA, CL_UNSIGNED_INT8};
  const std::array<kit::Image, 2> pictures{cl.image(setup.context, kFormat, shape),
                                           cl.image(setup.context, kFormat, shape)};
  const cl_uint color[4] = {3, 1, 4, 1};
  kit::Event last = cl.event();
  check(cl.clEnqueueFillImage(setup.queues[0], pictures[0], color, origin, region, 0, nullptr, last.out()));
  cl_int error = CL_SUCCESS;
  const kit::Sampler sampler =
      cl.own(cl.clCreateSampler(setup.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error));
  check(error);
  const kit::Kernel shade = setup.kernel("shade");
  for (cl_uint i = 0; i < 5; ++i) {
    check(cl.set_arguments(shade, pictures[i % 2], pictures[(i + 1) % 2], sampler));
    last = cl.launch_event(setup.queues[(i + 1) % 2], shade, kit::Sizes(kWidth, kHeight), {last});
  }
  const kit::Buffer flat = setup.buffer(kWidth * kHeight);
  kit::Event copied = cl.event();
  check(cl.clEnqueueCopyImageToBuffer(setup.out_of_order[1], pictures[1], flat, origin, region, 0, 1,
                                      last.list(), copied.out()));
  std::printf("images %08x\n", checksum_of(setup.queues[0], flat, kWidth * kHeight, {copied}));
}

// Commands of all kinds on either queue, each behind the one before: by its event, or because the program waits.
void random_commands(const Setup& setup, std::uint32_t seed) {
  const auto random = [&](std::uint32_t below) {
    return ((seed = seed * 1664525U + 1013904223U) >> 8U) % below;
  };
  const std::array<kit::Buffer, 3> buffers{setup.buffer(kFew), setup.buffer(kFew),
                                           setup.buffer(kFew, CL_MEM_READ_ONLY)};
  const kit::Kernel add = setup.kernel("add", buffers[0], cl_uint{1});
  const kit::Kernel sum = setup.kernel("sum");
  std::vector<std::vector<cl_uint>> written;  // stays while a write may need it
  kit::Event last = launch(setup.queues[0], add, kFew);
  for (int step = 0; step < 150; ++step) {
    cl_command_queue const queue = random(2) == 0 ? setup.queues[random(2)] : setup.out_of_order[random(2)];
    const std::uint32_t one = random(2);
    const std::size_t from = random(kFew / 2);
    const std::size_t items = 1 + std::size_t{random(kFew / 2)};
    const std::size_t offset = from * sizeof(cl_uint);
    const kit::Waits waits{last};
    kit::Event next = cl.event();
    cl_int error = CL_SUCCESS;
    switch (random(6)) {
      case 0:
        check(cl.set_arguments(add, buffers[one], cl_uint{random(1000)}));
        error = cl.launch(queue, add, {kFew}, waits, next.out());
        break;
      case 1:
        check(cl.set_arguments(sum, buffers[one], buffers[1 - one], buffers[2]));
        error = cl.launch(queue, sum, {kFew}, waits, next.out());
        break;
      case 2: {
        std::vector<cl_uint>& data = written.emplace_back(kFew);
        for (cl_uint& value : data) value = random(1U << 20U);
        error = cl.write(queue, buffers[random(3)], kit::Blocking::no,
                         std::span<const cl_uint>(data).first(items), offset, waits, next.out());
        break;
      }
      case 3:
        error = cl.copy(queue, buffers[one], buffers[1 - one], items * sizeof(cl_uint), offset, 0, waits,
                        next.out());
        break;
      case 4:
        error = cl.fill(queue, buffers[one], static_cast<cl_uint>(from), items, offset, waits, next.out());
        break;
      default:
        error = cl.clEnqueueMigrateMemObjects(queue, 1, buffers[one].list(), 0, 1, last.list(), next.out());
        break;
    }
    check(error);
    if (random(3) == 0) check(cl.wait({next}));
    last = std::move(next);
  }
  std::printf("random commands");
  for (const kit::Buffer& one : buffers)
    std::printf(" %08x", checksum_of(setup.out_of_order[random(2)], one, kFew, {last}));
  std::printf("\n");
}

// Quarters of one buffer, each used by a thread on all queues in turn.
void threads(const Setup& setup) {
  const kit::Buffer buffer = setup.buffer(4 * kFew);
  kit::on_threads(4, [&](std::size_t thread) {
    const auto number = static_cast<cl_uint>(thread);
    const kit::Buffer quarter = cl.sub_buffer(buffer, number * kFewBytes, kFewBytes);
    const kit::Kernel add = setup.kernel("add", quarter);
    kit::Event last;
    for (cl_uint i = number; i < 100 + number; ++i) {
      check(cl.set_argument(add, 1, i));
      last = launch(queue_for(setup, i, 3), add, kFew, last ? kit::Waits{last} : kit::Waits{});
    }
    check(cl.wait({last}));
  });
  std::printf("threads %08x\n", checksum_of(setup.queues[0], buffer, 4 * kFew));
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // shows how far it came, should it hang
  const Setup setup;
  alternating_devices(setup);
  halves(setup);
  user_event(setup, true);
  user_event(setup, false);
  independent_commands(setup);
  failed_event(setup);
  maps(setup);
  images(setup);
  for (std::uint32_t seed = 1; seed <= 4; ++seed) random_commands(setup, seed);
  threads(setup);
  return 0;
}
