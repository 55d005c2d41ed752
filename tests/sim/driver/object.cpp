#include "tests/sim/driver/object.h"

#include <array>
#include <string_view>
#include <utility>

#include "tests/sim/driver/objects.h"
#include "tests/sim/driver/session.h"

namespace cleave::sim {

Object::Object(Session& owner, Kind of)
    : session(owner), kind(of), id(owner.next_id(of)), handle(owner.enlist(*this)) {}

Object::~Object() { session.strike(*this); }

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
void call_all_later(Session& session, std::vector<std::function<void()>>& callbacks) {
  for (auto it = callbacks.rbegin(); it != callbacks.rend(); ++it) session.call_later(std::move(*it));
}

}  // namespace

Context::~Context() { call_all_later(session, on_destruction); }
Memory::~Memory() { call_all_later(session, on_destruction); }
Program::~Program() { call_all_later(session, on_destruction); }

}  // namespace cleave::sim
