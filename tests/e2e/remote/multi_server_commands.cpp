// One context with two queues, on devices of two servers where there are two: what commands on either do to
// memory, in whatever order events put them. Prints results, which are the same with one device.
#include <thread>

#include "multi_server_setup.h"

namespace {

constexpr std::size_t kItems = 300'001;  // more than a move carries at a time, where they are many
constexpr std::size_t kFew = 1024;

// The contents go to and fro, and each launch needs the one before.
void to_and_fro(const Rig& rig) {
  cl_mem const memory = rig.buffer(kItems);
  cl_kernel const add = rig.kernel("add");
  set(add, 0, memory);
  std::vector<cl_event> last;
  for (cl_uint i = 0; i < 20; ++i) {
    set(add, 1, i);
    last = {launch(i % 5 == 0 ? rig.loose[i % 2] : rig.queues[i % 2], add, kItems, last)};
  }
  std::printf("to and fro %08x\n", checksum(read_all(rig.queues[1], memory, kItems, last)));
  require(clFinish(rig.queues[0]), "clFinish");
  clReleaseMemObject(memory);
}

// Halves of one buffer on two devices at once, then all of it on one.
void halves(const Rig& rig) {
  cl_mem const memory = rig.buffer(2 * kFew);
  cl_kernel kernels[2] = {rig.kernel("add"), rig.kernel("add")};
  std::vector<cl_event> events;
  for (cl_uint round = 0; round < 4; ++round) {
    for (cl_uint i = 0; i < 2; ++i) {
      const cl_buffer_region half{i * kFew * sizeof(cl_uint), kFew * sizeof(cl_uint)};
      cl_int error = CL_SUCCESS;
      cl_mem const part = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
      require(error, "clCreateSubBuffer");
      set(kernels[i], 0, part);
      set(kernels[i], 1, i + round);
      events.push_back(launch(rig.queues[i], kernels[i], kFew));
      clReleaseMemObject(part);
    }
  }
  std::printf("halves %08x\n", checksum(read_all(rig.queues[0], memory, 2 * kFew, events)));
}

// The program sets an event when it has made what the command that waits for it is to find.
void late_event(const Rig& rig, bool in_order) {
  cl_mem const memory = rig.buffer(kFew);
  cl_mem const other = rig.buffer(kFew);
  cl_kernel const add = rig.kernel("add");
  cl_event const late = rig.user_event();
  set(add, 0, memory);
  set(add, 1, 7U);
  cl_command_queue const waiting = in_order ? rig.queues[1] : rig.loose[1];
  cl_event const last = launch(waiting, add, kFew, {late});
  cl_event copied = nullptr;  // behind it on an in-order queue, or by its event
  require(clEnqueueCopyBuffer(waiting, memory, other, 0, 0, kFew * sizeof(cl_uint), in_order ? 0 : 1,
                              in_order ? nullptr : &last, &copied),
          "clEnqueueCopyBuffer");
  set(add, 1, 100U);
  cl_event first = launch(rig.queues[0], add, kFew);
  require(clWaitForEvents(1, &first), "clWaitForEvents");
  require_true(status_of(last) > CL_COMPLETE, "what waits for an event ran before");
  require(clSetUserEventStatus(late, CL_COMPLETE), "clSetUserEventStatus");
  std::printf("late event %08x", checksum(read_all(rig.queues[0], memory, kFew, {last})));
  std::printf(" %08x\n", checksum(read_all(rig.loose[0], other, kFew, {copied})));
}

// What does not wait for an event on a queue out of order must not, or the program could not set it.
void not_behind(const Rig& rig) {
  cl_mem const a = rig.buffer(kFew);
  cl_mem const b = rig.buffer(kFew);
  cl_kernel const add = rig.kernel("add");
  cl_event const late = rig.user_event();
  set(add, 1, 9U);
  set(add, 0, a);
  cl_event const waiting = launch(rig.loose[1], add, kFew, {late});
  set(add, 0, b);
  cl_event first = launch(rig.loose[0], add, kFew);
  cl_event second = launch(rig.loose[1], add, kFew, {first});
  require(clWaitForEvents(1, &second), "clWaitForEvents");
  cl_event marker = nullptr;  // some drivers let one wait for more than its list
  require(clEnqueueMarkerWithWaitList(rig.loose[1], 1, &first, &marker), "clEnqueueMarkerWithWaitList");
  require(clSetUserEventStatus(late, CL_COMPLETE), "clSetUserEventStatus");
  require(clWaitForEvents(1, &marker), "clWaitForEvents");
  std::printf("not behind %08x", checksum(read_all(rig.queues[0], b, kFew)));
  std::printf(" %08x\n", checksum(read_all(rig.queues[0], a, kFew, {waiting})));
}

// An event that fails makes what waits for it fail, wherever that is, and the contents stay.
void failing(const Rig& rig) {
  cl_mem const memory = rig.buffer(kFew);
  cl_kernel const add = rig.kernel("add");
  set(add, 0, memory);
  set(add, 1, 3U);
  cl_event const good = launch(rig.queues[1], add, kFew);
  cl_event const bad = rig.user_event();
  cl_event const first = launch(rig.loose[0], add, kFew, {good, bad});
  cl_event second = launch(rig.loose[1], add, kFew, {first});
  require(clSetUserEventStatus(bad, -77), "clSetUserEventStatus");
  const bool failed = clWaitForEvents(1, &second) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  std::printf("failing %d %d %d", failed ? 1 : 0, status_of(first) < 0 ? 1 : 0,
              status_of(second) < 0 ? 1 : 0);
  std::printf(" %08x\n", checksum(read_all(rig.queues[0], memory, kFew)));
}

void maps(const Rig& rig) {
  cl_mem const memory = rig.buffer(kFew);
  cl_int error = CL_SUCCESS;
  for (cl_uint i = 0; i < 4; ++i) {
    auto* const values = static_cast<cl_uint*>(clEnqueueMapBuffer(rig.queues[i % 2], memory, CL_TRUE,
                                                                  CL_MAP_READ | CL_MAP_WRITE, 400, 800, 0,
                                                                  nullptr, nullptr, &error));
    require(error, "clEnqueueMapBuffer");
    cl_uint count = 0;
    require(clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof count, &count, nullptr), "CL_MEM_MAP_COUNT");
    require_true(count == 1, "one map");
    for (cl_uint k = 0; k < 200; ++k) values[k] = values[k] * 5 + k + i;
    cl_event unmapped = nullptr;  // by the same queue, and by the other one
    require(clEnqueueUnmapMemObject(rig.queues[i / 2], memory, values, 0, nullptr, &unmapped), "unmap");
    require(clWaitForEvents(1, &unmapped), "clWaitForEvents");
  }
  std::printf("maps %08x\n", checksum(read_all(rig.queues[1], memory, kFew)));
  std::vector<cl_uint> own(kFew, 5);
  cl_mem const over =
      clCreateBuffer(rig.context, CL_MEM_USE_HOST_PTR, kFew * sizeof(cl_uint), own.data(), &error);
  require(error, "clCreateBuffer");
  cl_kernel const add = rig.kernel("add");
  set(add, 0, over);
  set(add, 1, 2U);
  cl_event const done = launch(rig.queues[1], add, kFew);
  void* const mapped = clEnqueueMapBuffer(rig.queues[0], over, CL_TRUE, CL_MAP_READ, 0,
                                          kFew * sizeof(cl_uint), 1, &done, nullptr, &error);
  require_true(mapped == own.data(), "the program's own memory");
  std::printf("own %08x\n", checksum(own));
  require(clEnqueueUnmapMemObject(rig.queues[0], over, mapped, 0, nullptr, nullptr), "unmap");
  require(clFinish(rig.queues[0]), "clFinish");
  clReleaseMemObject(over);
}

cl_mem make_image(const Rig& rig, std::size_t width, std::size_t height) {
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = width;
  desc.image_height = height;
  cl_int error = CL_SUCCESS;
  cl_mem const made = clCreateImage(rig.context, CL_MEM_READ_WRITE, &format, &desc, nullptr, &error);
  require(error, "clCreateImage");
  return made;
}

void images(const Rig& rig) {
  constexpr std::size_t kWidth = 129;
  constexpr std::size_t kHeight = 67;
  const std::size_t origin[3] = {};
  const std::size_t region[3] = {kWidth, kHeight, 1};
  cl_mem pictures[2] = {make_image(rig, kWidth, kHeight), make_image(rig, kWidth, kHeight)};
  const cl_uint color[4] = {3, 1, 4, 1};
  cl_event last = nullptr;
  require(clEnqueueFillImage(rig.queues[0], pictures[0], color, origin, region, 0, nullptr, &last), "fill");
  cl_int error = CL_SUCCESS;
  cl_sampler const sampler =
      clCreateSampler(rig.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
  require(error, "clCreateSampler");
  cl_kernel const shade = rig.kernel("shade");
  require(clSetKernelArg(shade, 2, sizeof sampler, &sampler), "clSetKernelArg");
  for (cl_uint i = 0; i < 5; ++i) {
    set(shade, 0, pictures[i % 2]);
    set(shade, 1, pictures[(i + 1) % 2]);
    cl_event next = nullptr;
    require(
        clEnqueueNDRangeKernel(rig.queues[(i + 1) % 2], shade, 2, nullptr, region, nullptr, 1, &last, &next),
        "clEnqueueNDRangeKernel");
    last = next;
  }
  cl_mem const flat = rig.buffer(kWidth * kHeight);
  cl_event copied = nullptr;
  require(clEnqueueCopyImageToBuffer(rig.loose[1], pictures[1], flat, origin, region, 0, 1, &last, &copied),
          "copy");
  std::printf("images %08x\n", checksum(read_all(rig.queues[0], flat, kWidth * kHeight, {copied})));
}

// Commands of all kinds on either queue, each behind the one before: by its event, or by the program's
// waiting.
void at_random(const Rig& rig, std::uint32_t seed) {
  const auto random = [&](std::uint32_t below) {
    return ((seed = seed * 1664525U + 1013904223U) >> 8U) % below;
  };
  cl_mem memory[3] = {rig.buffer(kFew), rig.buffer(kFew), rig.buffer(kFew, CL_MEM_READ_ONLY)};
  cl_kernel const add = rig.kernel("add");
  cl_kernel const sum = rig.kernel("sum");
  std::vector<std::vector<cl_uint>> written;  // stays while a write may need it
  cl_event last = launch(rig.queues[0], (set(add, 0, memory[0]), set(add, 1, 1U), add), kFew);
  for (int step = 0; step < 150; ++step) {
    cl_command_queue const queue = random(2) == 0 ? rig.queues[random(2)] : rig.loose[random(2)];
    const std::uint32_t one = random(2);
    const std::size_t from = random(kFew / 2);
    const std::size_t bytes = 4 * (1 + std::size_t{random(kFew / 2)});
    cl_event next = nullptr;
    cl_int error = CL_SUCCESS;
    switch (random(6)) {
      case 0:
        set(add, 0, memory[one]);
        set(add, 1, random(1000));
        next = launch(queue, add, kFew, {last});
        break;
      case 1:
        set(sum, 0, memory[one]);
        set(sum, 1, memory[1 - one]);
        set(sum, 2, memory[2]);
        next = launch(queue, sum, kFew, {last});
        break;
      case 2:
        written.emplace_back(kFew);
        for (cl_uint& value : written.back()) value = random(1U << 20U);
        error = clEnqueueWriteBuffer(queue, memory[random(3)], CL_FALSE, 4 * from, bytes,
                                     written.back().data(), 1, &last, &next);
        break;
      case 3:
        error = clEnqueueCopyBuffer(queue, memory[one], memory[1 - one], 4 * from, 0, bytes, 1, &last, &next);
        break;
      case 4:
        error = clEnqueueFillBuffer(queue, memory[one], &from, 4, 4 * from, bytes, 1, &last, &next);
        break;
      default:
        error = clEnqueueMigrateMemObjects(queue, 1, &memory[one], 0, 1, &last, &next);
        break;
    }
    require(error, "a command");
    if (random(3) == 0) require(clWaitForEvents(1, &next), "clWaitForEvents");
    clReleaseEvent(last);
    last = next;
  }
  std::printf("at random");
  for (cl_mem const one : memory)
    std::printf(" %08x", checksum(read_all(rig.loose[random(2)], one, kFew, {last})));
  std::printf("\n");
}

// Quarters of one buffer, each by a thread that uses all queues in turn.
void by_threads(const Rig& rig) {
  cl_mem const memory = rig.buffer(4 * kFew);
  std::vector<std::thread> threads;
  for (cl_uint number = 0; number < 4; ++number) {
    threads.emplace_back([&rig, memory, number] {
      const cl_buffer_region quarter{number * kFew * sizeof(cl_uint), kFew * sizeof(cl_uint)};
      cl_int error = CL_SUCCESS;
      cl_mem const own = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &quarter, &error);
      require(error, "clCreateSubBuffer");
      cl_kernel const add = rig.kernel("add");
      set(add, 0, own);
      std::vector<cl_event> last;
      for (cl_uint i = number; i < 100 + number; ++i) {
        set(add, 1, i);
        last = {launch(i % 3 == 0 ? rig.loose[i % 2] : rig.queues[i % 2], add, kFew, last)};
      }
      require(clWaitForEvents(1, last.data()), "clWaitForEvents");
    });
  }
  for (std::thread& one : threads) one.join();
  std::printf("by threads %08x\n", checksum(read_all(rig.queues[0], memory, 4 * kFew)));
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // how far it came, should it hang
  const Rig rig;
  to_and_fro(rig);
  halves(rig);
  late_event(rig, true);
  late_event(rig, false);
  not_behind(rig);
  failing(rig);
  maps(rig);
  images(rig);
  for (std::uint32_t seed = 1; seed <= 4; ++seed) at_random(rig, seed);
  by_threads(rig);
  return 0;
}
