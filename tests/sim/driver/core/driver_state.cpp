#include "tests/sim/driver/core/driver_state.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace {

std::atomic<DriverState*> current_state{nullptr};

}  // namespace

DriverState* DriverState::current() { return current_state.load(std::memory_order_acquire); }

DriverState::DriverState(Options chosen) : options(std::move(chosen)), record(!options.quiet) {
  const Lock lock(mutex);
  platform = std::make_shared<Platform>(*this);
  make_devices();
  DriverState* none = nullptr;
  if (!current_state.compare_exchange_strong(none, this)) {
    std::fputs("sim: there is a Driver already\n", stderr);
    std::abort();
  }
}

void DriverState::make_devices() {
  for (unsigned i = 0; i < options.devices; ++i) {
    auto device = std::make_shared<Device>(*this);
    device->name = options.device_name;
    if (i > 0) (device->name += ' ') += std::to_string(i + 1);
    device->compute_units = options.compute_units;
    devices.push_back(std::move(device));
  }
}

// Objects refer to each other in circles while commands are in flight, so these are cut first.
DriverState::~DriverState() {
  current_state.store(nullptr, std::memory_order_release);
  const Lock lock(mutex);
  std::vector<std::shared_ptr<Object>> alive;
  alive.reserve(objects_.size());
  for (const auto& [handle, object] : objects_) alive.push_back(object->shared_from_this());
  timeline.clear();
  for (const auto& object : alive) {
    if (object->kind == Kind::queue) {
      auto& queue = static_cast<Queue&>(*object);
      for (const auto& command : std::exchange(queue.commands, {})) {
        command->dependents.clear();
        command->effect = nullptr;
        command->event = nullptr;
        command->queue = nullptr;
      }
      queue.barrier = nullptr;
    } else if (object->kind == Kind::event) {
      static_cast<Event&>(*object).command->dependents.clear();
    }
    while (object->release()) {
    }
  }
  alive.clear();
  pending_callbacks_.clear();
  devices.clear();
  platform.reset();
}

void DriverState::sleep_for(Nanoseconds duration) {
  {
    Lock lock(mutex);
    advance(lock, std::max(duration, Nanoseconds::zero()) + options.sleep_lateness);
    changed();
  }
  std::this_thread::yield();
}

void DriverState::advance(Lock& lock, Nanoseconds duration) {
  const Nanoseconds limit = timeline.now() + duration;
  while (timeline.step(limit)) run_callbacks(lock);
  timeline.jump(limit);
}

void DriverState::run_until_idle(Lock& lock) {
  while (timeline.step(Nanoseconds::max())) run_callbacks(lock);
  changed();
}

bool DriverState::wait(Lock& lock, const std::function<bool()>& done) {
  using RealTime = std::chrono::steady_clock;
  constexpr auto unset = RealTime::time_point::max();
  auto deadline = unset;  // runs from when nothing could happen any more
  while (!done()) {
    run_callbacks(lock);
    if (done()) break;
    const Nanoseconds before = timeline.now();
    if (timeline.step(Nanoseconds::max())) {
      if (options.waits_use_cpu) wait_cpu_time_ += (timeline.now() - before).count();
      deadline = unset;
      changed();
      continue;
    }
    const auto real_now = RealTime::now();
    if (deadline == unset) deadline = real_now + options.hang_timeout;
    if (real_now >= deadline) {
      hung = true;
      return false;
    }
    changed_.wait_until(lock, deadline);
  }
  return true;
}

// The callbacks hold objects, which may only go under the lock.
void DriverState::run_callbacks(Lock& lock) {
  while (!pending_callbacks_.empty()) {
    auto due = std::exchange(pending_callbacks_, {});
    lock.unlock();
    for (const auto& callback : due) callback();
    lock.lock();
    due.clear();
  }
}

void DriverState::set_dispatch_data(void* data) {
  dispatch_data_ = data;
  platform->handle->dispatch_data = data;
  for (const auto& device : devices) device->handle->dispatch_data = data;
}

Object* DriverState::find(const void* handle) const {
  const auto found = objects_.find(handle);
  return found == objects_.end() ? nullptr : found->second;
}

Handle* DriverState::register_object(Object& object) {
  Handle& handle = handles_.emplace_back(
      Handle{options.icd_v2_only ? &icd_v2_table() : &Driver::table(), dispatch_data_, &object});
  objects_.emplace(&handle, &object);
  ++live_[static_cast<std::size_t>(object.kind)];
  return &handle;
}

void DriverState::note_if_released(const void* handle) const {
  const Object* const object = find(handle);
  const auto former = object == nullptr ? former_.find(handle) : former_.end();
  if (object == nullptr && former == former_.end()) return;
  const bool root =
      object != nullptr && object->kind == Kind::device && !static_cast<const Device&>(*object).parent;
  if (object != nullptr && (root || object->kind == Kind::platform || object->references() != 0)) return;
  uses_of_released.push_back(std::string(name_of(called)) + ": " +
                             (object != nullptr ? object->label() : former->second));
}

void DriverState::unregister_object(Object& object) {
  former_.emplace(object.handle, object.label());
  object.handle->object = nullptr;
  objects_.erase(object.handle);
  --live_[static_cast<std::size_t>(object.kind)];
}

std::size_t DriverState::live(Kind kind) const {
  const std::size_t alive = live_[static_cast<std::size_t>(kind)];
  if (kind == Kind::platform) return 0;
  return kind == Kind::device ? alive - devices.size() : alive;
}

std::vector<std::string> DriverState::live_objects() const {
  std::vector<std::string> labels;
  for (const auto& [handle, object] : objects_) {
    const bool root = object->kind == Kind::device && !static_cast<const Device&>(*object).parent;
    if (!root && object->kind != Kind::platform) labels.push_back(object->label());
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

cl_int DriverState::starts(Command& command) {
  record.starts(command.launch);
  return faults.execution(command.launch->kernel).value_or(CL_COMPLETE);
}

}  // namespace cleave::sim
