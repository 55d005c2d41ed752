#include "tests/sim/driver/core/object.h"

#include <array>
#include <string_view>
#include <utility>

#include "tests/sim/driver/core/driver_state.h"
#include "tests/sim/driver/core/objects.h"

namespace cleave::sim {

Object::Object(DriverState& owner, Kind of)
    : state(owner), kind(of), id(owner.next_id(of)), handle(owner.register_object(*this)) {}

Object::~Object() { state.unregister_object(*this); }

void Object::retain() {
  if (references_++ == 0) self_ = shared_from_this();
}

bool Object::release() {
  if (references_ == 0) return false;
  if (--references_ == 0) std::exchange(self_, nullptr).reset();
  return true;
}

std::string Object::label() const {
  static constexpr std::array<std::string_view, kind_count> names = {
      "platform", "device", "context", "queue", "memory", "sampler", "program", "kernel", "event"};
  return std::string(names[static_cast<std::size_t>(kind)]) + '#' + std::to_string(id);
}

bool Context::has(const Device& device) const {
  for (const auto& own : devices) {
    if (own.get() == &device) return true;
  }
  return false;
}

namespace {

// In the reverse order of their registration, as the specification has it.
void call_all_later(DriverState& state, std::vector<std::function<void()>>& callbacks) {
  for (auto it = callbacks.rbegin(); it != callbacks.rend(); ++it) state.queue_callback(std::move(*it));
}

}  // namespace

Context::~Context() { call_all_later(state, on_destruction); }
Memory::~Memory() { call_all_later(state, on_destruction); }
Program::~Program() { call_all_later(state, on_destruction); }

}  // namespace cleave::sim
