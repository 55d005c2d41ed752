#include "remote/client/spread/overtaking.h"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>

#include "remote/client/api.h"
#include "remote/client/events.h"
#include "remote/client/state.h"

namespace cleave::remote::client::spread {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// So long after one on another queue has ended, a command that may overtake has, in one of two attempts. If
// it has not, what is found is kept, and a program that waits for such a command before it sets an event
// hangs.
constexpr milliseconds kGrace{100};
// A device that is busy for so long is not waited for.
constexpr milliseconds kLongest{5000};

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

OwnQueue make_queue(cl_context part, cl_device_id device, cl_command_queue_properties properties) {
  OwnQueue queue(client::clCreateCommandQueue(part, device, properties, nullptr));
  // The program's commands may fill the windows for as long as it likes.
  if (queue != nullptr) body_of<QueueBody>(*find(queue.get())).urgent = true;
  return queue;
}

// Null: it was not taken.
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

// Empty: nothing can be said.
std::optional<bool> try_to_overtake(cl_context part, cl_device_id device) {
  const OwnQueue loose = make_queue(part, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const OwnQueue other = make_queue(part, device, 0);
  const OwnBuffer buffer(
      client::clCreateBuffer(part, CL_MEM_READ_WRITE, 3 * sizeof(cl_uint), nullptr, nullptr));
  const OwnEvent gate(make_user_event(*find(part), SetBy::us, nullptr));
  if (loose == nullptr || other == nullptr || buffer == nullptr || gate == nullptr) return {};
  const OwnEvent held = fill(loose, buffer, 0, gate.get());
  const OwnEvent behind = fill(loose, buffer, 1);
  const OwnEvent beside = fill(other, buffer, 2);
  const bool shows =
      held != nullptr && behind != nullptr && beside != nullptr && ends_within(beside, kLongest);
  const bool overtakes = shows && ends_within(behind, kGrace);
  client::clSetUserEventStatus(gate.get(), CL_COMPLETE);
  if (held != nullptr) ends_within(held, kLongest);
  return shows ? std::optional(overtakes) : std::nullopt;
}

}  // namespace

bool lets_overtake(cl_context part, cl_device_id device) {
  auto& known = body_of<DeviceBody>(*find(device)).overtaking;
  using Overtaking = DeviceBody::Overtaking;
  if (known.load() == Overtaking::unknown) {
    auto overtakes = try_to_overtake(part, device);
    if (overtakes == false) overtakes = try_to_overtake(part, device);
    if (overtakes) known.store(*overtakes ? Overtaking::seen : Overtaking::never);
  }
  return known.load() == Overtaking::seen;
}

}  // namespace cleave::remote::client::spread
