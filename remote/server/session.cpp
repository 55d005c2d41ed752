#include "remote/server/session.h"

#include <algorithm>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/protocol/verify.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

bool is_about_a_queue(wire::Body body) {
  return (body >= wire::Body::NDRange && body <= wire::Body::SvmFree) || body == wire::Body::FlushQueue ||
         body == wire::Body::FinishQueue;
}

}  // namespace

Session::~Session() {
  for (const auto& queue : objects_.queues()) {
    queue->let_go();
    queue->await_end();
  }
  for (const auto& released : released_) {
    if (const auto queue = released.lock()) queue->await_end();
  }
}

bool Session::is_at_work() { return begun_ != outbox_.commands_ended() || builder_.is_busy(); }

std::string Session::run() {
  Time last_command = steady_clock::now();
  while (!gone_ && violation_.empty()) {
    Time until = input_.last_heard() + limits_.silence;
    const bool may_idle = limits_.idle.count() == 0;
    if (!may_idle) until = std::min(until, last_command + limits_.idle);
    input_.linger();
    FrameHeader header;
    const Got got = input_.next(header, until);
    if (got == Got::gone) return "it is gone";
    if (got == Got::timeout) {
      if (may_idle || steady_clock::now() < last_command + limits_.idle) return "it is silent";
      if (is_at_work()) {
        last_command = steady_clock::now();
        continue;
      }
      outbox_.say_goodbye("no command for too long");
      return "it was idle for too long";
    }
    const std::uint64_t before = commands();
    if (!carry_out_frame(header)) return violation_.empty() ? "it is gone" : violation_;
    if (commands() != before) last_command = steady_clock::now();
  }
  return violation_.empty() ? "it is gone" : violation_;
}

bool Session::carry_out_frame(const FrameHeader& header) {
  if (header.kind != FrameKind::commands) violate("a frame of another kind");
  const wire::Commands* const message =
      violation_.empty() ? verified_commands(input_.message(), header.payload) : nullptr;
  if (message == nullptr) {
    violate("a message that is broken");
    return false;
  }
  if (message->commands() != nullptr) {
    for (const wire::Command* command : *message->commands()) {
      busy_since_.store(steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
      if (!carry_out(*command)) return false;
    }
  }
  after_frame();
  busy_since_.store(0, std::memory_order_relaxed);
  return !gone_;
}

bool Session::carry_out(const wire::Command& command) {
  payload_left_ = command.payload();
  ring_begun_ = false;
  if (command.body_type() != wire::Body::Ping) commands_.fetch_add(1, std::memory_order_relaxed);
  if (command.body_type() != wire::Body::Release) leave_to_watcher();
  if (command.queue() != 0) {
    if (!is_about_a_queue(command.body_type())) violate("a queue where there is none");
    if (++begun_ > outbox_.commands_ended() + kMostWindows * limits_.window_commands)
      violate("too many commands under way");
  }
  const bool in_ring = command.ring() != nullptr;
  if (command.shared() != nullptr && (shared_ == nullptr || (command.payload() != 0 && !in_ring)))
    violate("memory that is not shared");
  if (violation_.empty()) dispatch(command);
  if (in_ring && !gone_ && violation_.empty()) abandon_ring(command);
  if (gone_ || !violation_.empty()) return false;
  if (payload_left_ > 0 && !input_.skip_payload(payload_left_)) gone_ = true;
  return !gone_;
}

void Session::dispatch(const wire::Command& command) {
  switch (command.body_type()) {
#define CLEAVE_BODY(name) \
  case wire::Body::name:  \
    return handle(command, *command.body_as_##name());
#include "remote/server/bodies.def"
#undef CLEAVE_BODY
    case wire::Body::NONE:
      return;
  }
}

// Answers go out together, and queues are flushed when there is nothing more to add to them. Then there is
// time to look whether the last command ends soon.
void Session::after_frame() {
  constexpr unsigned kMostFrames = 32;  // of one client thread that never pauses, while another one waits
  const bool has_more = (!unflushed_.empty() || unsettled_ != nullptr) && input_.has_more();
  if (!unflushed_.empty() && (++frames_unflushed_ > kMostFrames || !has_more)) flush_queues();
  flush_answers();
  look_if_crowded();
  if (has_more) leave_to_watcher();
  if (unsettled_ == nullptr) return;
  unsettled_->settle([this] { return input_.has_more(); });
  unsettled_.reset();
}

void Session::settle_soon(const std::shared_ptr<Queue>& queue) {
  if (unsettled_ != queue) leave_to_watcher();
  unsettled_ = queue;
}

void Session::leave_to_watcher() {
  if (unsettled_ == nullptr) return;
  unsettled_->watch_on();
  unsettled_.reset();
}

// What nobody waits for is not looked at while a queue has little of it. On many queues that may be all that
// the client's windows let be under way, and then the client waits for it.
void Session::look_if_crowded() {
  const std::uint64_t most = std::min(limits_.window_commands, limits_.window_bytes / Pending::kMuch) / 2;
  if (begun_ - outbox_.commands_ended() < most || begun_ - looked_at_ < most / 2) return;
  looked_at_ = begun_;
  for (const auto& queue : objects_.queues()) queue->look();
}

void Session::flush_queues() {
  frames_unflushed_ = 0;
  for (const auto& queue : unflushed_) cl_.clFlush(queue->handle());
  unflushed_.clear();
}

void Session::flush_answers() {
  if (!answers_.empty() || outbox_.has_untold(limits_.window_commands / 8, limits_.window_bytes / 8))
    outbox_.send(answers_);
}

bool Session::read_payload(std::span<std::byte> into) {
  if (into.size() > payload_left_) {
    violate("a payload that is too short");
    return false;
  }
  payload_left_ -= into.size();
  if (!input_.read_payload(into)) gone_ = true;
  return !gone_;
}

void Session::tell(const wire::Command& command, std::uint64_t object, cl_int error) {
  if (command.request() != 0) {
    answers_.answer(command.request(), error);
  } else if (error != CL_SUCCESS) {
    answers_.failure(object, command.queue(), error);
  }
}

bool Session::may_create(std::uint64_t id) {
  if (objects_.size() >= limits_.objects) violate("too many objects");
  if (objects_.find(id)) violate("an id that is in use");
  return violation_.empty();
}

void Session::created(const wire::Command& command, std::uint64_t id, Object object, cl_int error) {
  if (error == CL_SUCCESS && !objects_.add(id, std::move(object)))
    return violate("an id that it may not choose");
  tell(command, id, error);
}

std::optional<std::vector<cl_device_id>> Session::devices_of(const flatbuffers::Vector<std::uint64_t>* ids) {
  std::vector<cl_device_id> devices;
  if (ids == nullptr) return devices;
  for (const std::uint64_t id : numbers(ids)) {
    devices.push_back(objects_.handle<cl_device_id>(id));
    if (devices.back() == nullptr) return std::nullopt;
  }
  return devices;
}

void Session::handle(const wire::Command& command, const wire::Ping& message) {
  (void)command;
  answers_.add(wire::CreatePong(answers_.builder(), message.number()));
}

}  // namespace cleave::remote::server
