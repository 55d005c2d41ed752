#include "remote/client/multi_server/out_of_order_probe.h"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>

#include "remote/client/api/api.h"
#include "remote/client/api/events.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client::multi_server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A command that can run out of order ends within this time after one on another queue, in one of two attempts. If the
// probe is wrong, a program that waits for such a command before it sets a user event hangs.
constexpr milliseconds kReorderGrace{100};
// A device that is busy for longer is not probed.
constexpr milliseconds kMaxWait{5000};

template <auto kRelease>
struct Releases {
  template <typename Handle>
  void operator()(Handle handle) const {
    kRelease(handle);
  }
};
template <typename Handle, auto kRelease>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releases<kRelease>>;
using OwnQueue = Owned<cl_command_queue, &client::clReleaseCommandQueue>;
using OwnBuffer = Owned<cl_mem, &client::clReleaseMemObject>;
using OwnEvent = Owned<cl_event, &client::clReleaseEvent>;

OwnQueue make_queue(cl_context shard, cl_device_id device, cl_command_queue_properties properties) {
  OwnQueue queue(client::clCreateCommandQueue(shard, device, properties, nullptr));
  // The program's own commands may keep the windows full.
  if (queue != nullptr) state_of<QueueState>(object_of(queue.get())).urgent = true;
  return queue;
}

// Null if it could not be enqueued.
OwnEvent fill(const OwnQueue& queue, const OwnBuffer& buffer, std::size_t place, cl_event wait = nullptr) {
  const cl_uint nothing = 0;
  cl_event event = nullptr;
  client::clEnqueueFillBuffer(queue.get(), buffer.get(), &nothing, sizeof nothing, place * sizeof nothing,
                              sizeof nothing, wait == nullptr ? 0 : 1, wait == nullptr ? nullptr : &wait,
                              &event);
  client::clFlush(queue.get());
  return OwnEvent(event);
}

bool ends_within(const OwnEvent& event, milliseconds most) {
  const auto until = steady_clock::now() + most;
  while (true) {
    cl_int status = CL_QUEUED;
    const cl_int error = client::clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                                &status, nullptr);
    if (error != CL_SUCCESS || status <= CL_COMPLETE) return error == CL_SUCCESS && status == CL_COMPLETE;
    if (steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

// Empty: inconclusive.
std::optional<bool> probe_reordering(cl_context shard, cl_device_id device) {
  const OwnQueue loose = make_queue(shard, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const OwnQueue other = make_queue(shard, device, 0);
  const OwnBuffer buffer(
      client::clCreateBuffer(shard, CL_MEM_READ_WRITE, 3 * sizeof(cl_uint), nullptr, nullptr));
  const OwnEvent gate(make_user_event(object_of(shard), SetBy::us, nullptr));
  if (loose == nullptr || other == nullptr || buffer == nullptr || gate == nullptr) return {};
  const OwnEvent held = fill(loose, buffer, 0, gate.get());
  const OwnEvent behind = fill(loose, buffer, 1);
  const OwnEvent beside = fill(other, buffer, 2);
  const bool shows =
      held != nullptr && behind != nullptr && beside != nullptr && ends_within(beside, kMaxWait);
  const bool overtakes = shows && ends_within(behind, kReorderGrace);
  client::clSetUserEventStatus(gate.get(), CL_COMPLETE);
  if (held != nullptr) ends_within(held, kMaxWait);
  return shows ? std::optional(overtakes) : std::nullopt;
}

}  // namespace

bool runs_out_of_order(cl_context shard, cl_device_id device) {
  auto& known = state_of<DeviceState>(object_of(device)).reordering;
  using Reordering = DeviceState::Reordering;
  if (known.load() == Reordering::unknown) {
    auto overtakes = probe_reordering(shard, device);
    if (overtakes == false) overtakes = probe_reordering(shard, device);
    if (overtakes) known.store(*overtakes ? Reordering::observed : Reordering::never);
  }
  return known.load() == Reordering::observed;
}

}  // namespace cleave::remote::client::multi_server
