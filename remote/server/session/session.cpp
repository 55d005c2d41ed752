#include "remote/server/session/session.h"

#include <algorithm>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/protocol/verify.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

bool takes_queue(wire::Body body) {
  return (body >= wire::Body::NDRange && body <= wire::Body::SvmFree) || body == wire::Body::FlushQueue ||
         body == wire::Body::FinishQueue;
}

}  // namespace

ClientSession::~ClientSession() {
  for (const auto& queue : objects_.queues()) {
    queue->stop_when_idle();
    queue->wait_until_stopped();
  }
  for (const auto& released : released_) {
    if (const auto queue = released.lock()) queue->wait_until_stopped();
  }
}

bool ClientSession::has_work_in_flight() {
  return commands_begun_ != outbox_.commands_ended() || builder_.is_busy();
}

std::string ClientSession::run() {
  Time last_command = steady_clock::now();
  while (!disconnected_ && violation_.empty()) {
    Time until = input_.last_received() + limits_.silence;
    const bool is_idle_unlimited = limits_.idle.count() == 0;
    if (!is_idle_unlimited) until = std::min(until, last_command + limits_.idle);
    input_.spin();
    FrameHeader header;
    const ReadStatus got = input_.next(header, until);
    if (got == ReadStatus::closed) return "it is gone";
    if (got == ReadStatus::timeout) {
      if (is_idle_unlimited || steady_clock::now() < last_command + limits_.idle) return "it is silent";
      if (has_work_in_flight()) {
        last_command = steady_clock::now();
        continue;
      }
      outbox_.send_goodbye("no command for too long");
      return "it was idle for too long";
    }
    const std::uint64_t before = commands();
    if (!execute_frame(header)) return violation_.empty() ? "it is gone" : violation_;
    if (commands() != before) last_command = steady_clock::now();
  }
  return violation_.empty() ? "it is gone" : violation_;
}

bool ClientSession::execute_frame(const FrameHeader& header) {
  if (header.kind != FrameKind::commands) report_violation("a frame of another kind");
  const wire::Commands* const message =
      violation_.empty() ? verified_commands(input_.message(), header.payload) : nullptr;
  if (message == nullptr) {
    report_violation("a message that is broken");
    return false;
  }
  if (message->commands() != nullptr) {
    for (const wire::Command* command : *message->commands()) {
      busy_since_.store(steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
      if (!execute(*command)) return false;
    }
  }
  after_frame();
  busy_since_.store(0, std::memory_order_relaxed);
  return !disconnected_;
}

bool ClientSession::execute(const wire::Command& command) {
  payload_left_ = command.payload();
  ring_started_ = false;
  if (command.body_type() != wire::Body::Ping) commands_.fetch_add(1, std::memory_order_relaxed);
  if (command.body_type() != wire::Body::Release) hand_to_watcher();
  if (command.queue() != 0) {
    if (!takes_queue(command.body_type())) report_violation("a queue where there is none");
    if (++commands_begun_ > outbox_.commands_ended() + kMaxWindows * limits_.window_commands)
      report_violation("too many commands under way");
  }
  const bool in_ring = command.ring() != nullptr;
  if (command.shared() != nullptr && (shared_ == nullptr || (command.payload() != 0 && !in_ring)))
    report_violation("memory that is not shared");
  if (violation_.empty()) dispatch(command);
  if (in_ring && !disconnected_ && violation_.empty()) return_ring_slots(command);
  if (disconnected_ || !violation_.empty()) return false;
  if (payload_left_ > 0 && !input_.skip_payload(payload_left_)) disconnected_ = true;
  return !disconnected_;
}

void ClientSession::dispatch(const wire::Command& command) {
  switch (command.body_type()) {
#define CLEAVE_MESSAGE(name) \
  case wire::Body::name:     \
    return handle(command, *command.body_as_##name());
#include "remote/server/session/messages.def"
#undef CLEAVE_MESSAGE
    case wire::Body::NONE:
      return;
  }
}

// Answers go out together, and queues are flushed when there is nothing more to add to them. Then there is
// time to look whether the last command ends soon.
void ClientSession::after_frame() {
  constexpr unsigned kMostFrames = 32;  // of one client thread that never pauses, while another one waits
  const bool has_more = (!unflushed_.empty() || polled_queue_ != nullptr) && input_.has_more();
  if (!unflushed_.empty() && (++frames_unflushed_ > kMostFrames || !has_more)) flush_queues();
  flush_answers();
  report_unawaited_if_crowded();
  if (has_more) hand_to_watcher();
  if (polled_queue_ == nullptr) return;
  polled_queue_->poll_awaited([this] { return input_.has_more(); });
  polled_queue_.reset();
}

void ClientSession::poll_after_frame(const std::shared_ptr<Queue>& queue) {
  if (polled_queue_ != queue) hand_to_watcher();
  polled_queue_ = queue;
}

void ClientSession::hand_to_watcher() {
  if (polled_queue_ == nullptr) return;
  polled_queue_->resume_watcher();
  polled_queue_.reset();
}

// What nobody waits for is not looked at while a queue has little of it. On many queues that may be all that
// the client's windows let be under way, and then the client waits for it.
void ClientSession::report_unawaited_if_crowded() {
  const std::uint64_t most =
      std::min(limits_.window_commands, limits_.window_bytes / Pending::kLargePayload) / 2;
  if (commands_begun_ - outbox_.commands_ended() < most || commands_begun_ - checked_at_ < most / 2) return;
  checked_at_ = commands_begun_;
  for (const auto& queue : objects_.queues()) queue->report_unawaited();
}

void ClientSession::flush_queues() {
  frames_unflushed_ = 0;
  for (const auto& queue : unflushed_) cl_.clFlush(queue->handle());
  unflushed_.clear();
}

void ClientSession::flush_answers() {
  if (!answers_.empty() || outbox_.has_unreported(limits_.window_commands / 8, limits_.window_bytes / 8))
    outbox_.send(answers_);
}

bool ClientSession::read_payload(std::span<std::byte> into) {
  if (into.size() > payload_left_) {
    report_violation("a payload that is too short");
    return false;
  }
  payload_left_ -= into.size();
  if (!input_.read_payload(into)) disconnected_ = true;
  return !disconnected_;
}

void ClientSession::reply(const wire::Command& command, std::uint64_t object, cl_int error) {
  if (command.request() != 0) {
    answers_.answer(command.request(), error);
  } else if (error != CL_SUCCESS) {
    answers_.failure(object, command.queue(), error);
  }
}

bool ClientSession::check_new_id(std::uint64_t id) {
  if (objects_.size() >= limits_.objects) report_violation("too many objects");
  if (objects_.find(id)) report_violation("an id that is in use");
  return violation_.empty();
}

void ClientSession::register_created(const wire::Command& command, std::uint64_t id, Object object,
                                     cl_int error) {
  if (error == CL_SUCCESS && !objects_.add(id, std::move(object)))
    return report_violation("an id that it may not choose");
  reply(command, id, error);
}

std::optional<std::vector<cl_device_id>> ClientSession::devices_of(
    const flatbuffers::Vector<std::uint64_t>* ids) {
  std::vector<cl_device_id> devices;
  if (ids == nullptr) return devices;
  for (const std::uint64_t id : numbers(ids)) {
    devices.push_back(objects_.handle<cl_device_id>(id));
    if (devices.back() == nullptr) return std::nullopt;
  }
  return devices;
}

void ClientSession::handle(const wire::Command& command, const wire::Ping& message) {
  (void)command;
  answers_.add(wire::CreatePong(answers_.builder(), message.number()));
}

}  // namespace cleave::remote::server
