#include "remote/server/session/session_context.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "opencl/info.h"

namespace cleave::remote::server {

void SessionContext::reply(const wire::Command& command, std::uint64_t object, cl_int error) {
  if (command.request() != 0) {
    answers.answer(command.request(), error);
  } else if (error != CL_SUCCESS) {
    answers.failure(object, command.queue(), error);
  }
}

bool SessionContext::register_object(std::uint64_t id, Object object) {
  if (objects.add(id, std::move(object))) return true;
  report_violation("object id outside of the client's range or in use");
  return false;
}

void SessionContext::register_created(const wire::Command& command, std::uint64_t id, Object object,
                                      cl_int error) {
  if (error == CL_SUCCESS && !register_object(id, std::move(object))) return;
  reply(command, id, error);
}

bool SessionContext::check_new_id(std::uint64_t id) {
  if (objects.size() >= limits.objects) report_violation("too many objects");
  if (objects.find(id)) report_violation("object id in use");
  return violation.empty();
}

bool SessionContext::may_create(const wire::Command& command, std::uint64_t id) {
  if (!check_new_id(id)) return false;
  if (!is_full()) return true;
  reply(command, id, CL_OUT_OF_HOST_MEMORY);
  return false;
}

bool SessionContext::is_full() {
  return overhead() >= max_overhead_for(limits.memory) || growth.bytes() >= limits.growth;
}

bool SessionContext::read_payload(std::span<std::byte> into) {
  if (into.size() > payload_left) {
    report_violation("payload too short");
    return false;
  }
  payload_left -= into.size();
  if (!input.read_payload(into)) disconnected = true;
  return !disconnected;
}

std::optional<std::vector<cl_device_id>> SessionContext::devices_of(
    const flatbuffers::Vector<std::uint64_t>* ids) const {
  if (ids != nullptr && ids->size() > kMostListedDevices) return std::nullopt;
  std::vector<cl_device_id> devices;
  for (const std::uint64_t id : numbers(ids)) {
    devices.push_back(objects.handle<cl_device_id>(id));
    if (devices.back() == nullptr) return std::nullopt;
  }
  return devices;
}

std::shared_ptr<ProgramState> SessionContext::program_state(std::uint64_t id) const {
  const auto object = objects.find(id);
  return object ? object->program : nullptr;
}

std::optional<DevicePlace> SessionContext::place_of(cl_device_id device) const {
  cl_device_id parent = device;
  while (parent != nullptr) {
    device = parent;
    parent = opencl::info<cl_device_id>(cl.clGetDeviceInfo, device, CL_DEVICE_PARENT_DEVICE);
  }
  return objects.place_of(device);
}

const wire::Command* SessionContext::next_with_queue(unsigned most) const {
  if (frame == nullptr) return nullptr;
  const auto end = std::min<flatbuffers::uoffset_t>(frame->size(), next_in_frame + most);
  for (auto at = next_in_frame; at < end; ++at) {
    if (const wire::Command* const one = frame->Get(at); one->queue() != 0) return one;
  }
  return nullptr;
}

namespace {

// Whether `is_so` becomes true within 0.1 s, while commands in flight end.
template <typename Condition>
bool becomes(Condition is_so) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (is_so()) return true;
  }
  return false;
}

}  // namespace

bool SessionContext::has_room(std::uint64_t more) {
  const auto fits = [&] { return overhead() + more <= max_overhead_for(limits.memory); };
  if (fits()) return true;
  if (outbox.overhead_ended() == ended_at_refusal) return false;
  flush_queues();
  for (const auto& queue : objects.queues()) queue->report_unawaited();
  if (becomes(fits)) return true;
  ended_at_refusal = outbox.overhead_ended();
  return false;
}

// What the client has released may be destroyed only when commands in flight have ended.
cl_int SessionContext::reserve_memory(std::uint64_t size) {
  if (memory.reserve(size) == CL_SUCCESS) return CL_SUCCESS;
  if (!std::exchange(has_released_memory, false)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  flush_queues();
  const bool has = becomes([&] { return memory.reserve(size) == CL_SUCCESS; });
  return has ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

void SessionContext::flush_queues() {
  frames_unflushed = 0;
  for (const auto& queue : unflushed) queue->flush();
  unflushed.clear();
}

void SessionContext::poll_after_frame(const std::shared_ptr<Queue>& queue) {
  if (polled_queue != queue) hand_to_watcher();
  polled_queue = queue;
}

void SessionContext::hand_to_watcher() {
  if (polled_queue == nullptr) return;
  polled_queue->resume_watcher();
  polled_queue.reset();
}

}  // namespace cleave::remote::server
