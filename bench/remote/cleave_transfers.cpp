// What a driver's transfers cost by kind of memory: the parts that a server's transfers are made of. Natively, for people.
//
//   cleave_transfers PLATFORM        part of the platform's name
//
// Each between the device and ordinary memory, and memory that a buffer with CL_MEM_USE_HOST_PTR covers, which NVIDIA's driver pins:
// small ones by blocking calls, and without blocking, how long the call takes and how long until the event's status says so; and
// 64 MiB by the slices of a ring (remote/client/link/shared_ring.h), all of them enqueued as soon as there is a slot: how long
// the calls take, and to the end, where the slots come back by callbacks and where their events are asked. A call that takes as long
// as its data does waits for the device.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace {

using kit::duration_of;

constexpr std::size_t kAll = std::size_t{64} << 20U;
constexpr std::size_t kSlots = 8;
constexpr std::size_t kFirstSlot = 4096;
constexpr std::size_t kSlice = (std::size_t{1} << 20U) - kFirstSlot;
constexpr std::size_t kMemory = std::size_t{16} << 20U;
constexpr std::size_t kSmall = 4096;

[[noreturn]] void end_program(const char* call, cl_int error, const kit::Where& /*where*/) {
  std::fprintf(stderr, "%s: error %d\n", call, error);
  std::exit(2);
}

const kit::Api cl(kit::linked_table(), end_program);

enum class Direction : std::uint8_t { read, write };
enum class SlotsBy : std::uint8_t { callback, status };

struct Setup {
  cl_device_id device;
  kit::Context context = cl.context(device);
  kit::Queue queue = cl.queue(context, device);
  kit::Buffer buffer = cl.buffer(context, kAll);
  std::byte* memory;
};

void transfer(const Setup& setup, Direction direction, cl_bool blocking, std::size_t at, std::size_t size,
              std::byte* memory, cl_event* event) {
  cl.check("transfer", direction == Direction::read
                           ? cl.clEnqueueReadBuffer(setup.queue, setup.buffer, blocking, at, size, memory, 0,
                                                    nullptr, event)
                           : cl.clEnqueueWriteBuffer(setup.queue, setup.buffer, blocking, at, size, memory, 0,
                                                     nullptr, event));
}

bool has_ended(cl_event event) {
  cl_int status = CL_QUEUED;
  cl.check("clGetEventInfo",
           cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr));
  return status <= CL_COMPLETE;
}

void await(cl_event event) {
  while (!has_ended(event)) std::this_thread::yield();
}

// A slot of the ring, and the event of its slice; null: it is free.
struct Slot {
  cl_event event = nullptr;
  std::atomic<bool> is_back{true};
};

void CL_CALLBACK slice_ended(cl_event, cl_int, void* slot) { static_cast<Slot*>(slot)->is_back = true; }

void await_slot(Slot& slot, SlotsBy by) {
  if (slot.event == nullptr) return;
  if (by == SlotsBy::status) await(slot.event);
  while (by == SlotsBy::callback && !slot.is_back) std::this_thread::yield();
  cl.clReleaseEvent(slot.event);
  slot.event = nullptr;
}

// Seconds: in the calls that enqueue, and altogether.
std::array<double, 2> by_slices(const Setup& setup, Direction direction, SlotsBy by) {
  std::array<Slot, kSlots> slots;
  double in_calls = 0;
  const double all = duration_of([&] {
    std::size_t next = 0;
    for (std::size_t at = 0; at < kAll; at += kSlice) {
      const std::size_t number = next++ % kSlots;
      Slot& slot = slots[number];
      await_slot(slot, by);
      in_calls += duration_of([&] {
        transfer(setup, direction, CL_FALSE, at, std::min(kSlice, kAll - at),
                 setup.memory + kFirstSlot + number * kSlice, &slot.event);
      });
      slot.is_back = false;
      if (by == SlotsBy::callback)
        cl.check("clSetEventCallback", cl.clSetEventCallback(slot.event, CL_COMPLETE, slice_ended, &slot));
      cl.clFlush(setup.queue);
    }
    for (Slot& slot : slots) await_slot(slot, by);
  });
  return {in_calls, all};
}

void print_small(const Setup& setup, Direction direction) {
  std::vector<double> blocking, in_call, to_end;
  for (int i = 0; i < 2000; ++i) {
    std::byte* const memory = setup.memory + kFirstSlot;
    blocking.push_back(duration_of([&] { transfer(setup, direction, CL_TRUE, 0, kSmall, memory, nullptr); }));
    to_end.push_back(duration_of([&] {
      cl_event event = nullptr;
      in_call.push_back(
          duration_of([&] { transfer(setup, direction, CL_FALSE, 0, kSmall, memory, &event); }));
      cl.clFlush(setup.queue);
      await(event);
      cl.clReleaseEvent(event);
    }));
  }
  std::printf("  4 KiB: blocking %.1f us; without %.1f us in the call, %.1f us to the end\n",
              1e6 * kit::median(blocking), 1e6 * kit::median(in_call), 1e6 * kit::median(to_end));
}

void print_slices(const Setup& setup, Direction direction, SlotsBy by, const char* words) {
  std::vector<double> in_calls, all;
  for (int i = 0; i < 9; ++i) {
    const auto [calls, whole] = by_slices(setup, direction, by);
    in_calls.push_back(calls);
    all.push_back(whole);
  }
  std::printf("  64 MiB by slices, %s: %.2f ms in the calls, %.2f ms to the end\n", words,
              1e3 * kit::median(in_calls), 1e3 * kit::median(all));
}

void print_all(const Setup& setup, const char* kind) {
  for (const auto& [direction, words] : {std::pair{Direction::read, "read"}, {Direction::write, "write"}}) {
    std::printf("%s, %s memory:\n", words, kind);
    print_small(setup, direction);
    print_slices(setup, direction, SlotsBy::callback, "slots by callback");
    print_slices(setup, direction, SlotsBy::status, "slots by status");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s PLATFORM\n", arguments[0]);
    return 2;
  }
  const cl_device_id device = cl.device_of(arguments[1]);
  if (device == nullptr) end_program("no such platform", CL_INVALID_PLATFORM, {});
  void* const memory = ::mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) end_program("mmap", CL_OUT_OF_HOST_MEMORY, {});
  std::fill_n(static_cast<char*>(memory), kMemory, 'm');
  const Setup setup{.device = device, .memory = static_cast<std::byte*>(memory)};
  transfer(setup, Direction::write, CL_TRUE, 0, kMemory, setup.memory, nullptr);
  print_all(setup, "ordinary");
  cl_int error = CL_SUCCESS;
  const kit::Memory pinned = cl.own(
      cl.clCreateBuffer(setup.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kMemory, memory, &error));
  cl.check("clCreateBuffer", error);
  print_all(setup, "covered");
  return 0;
}
