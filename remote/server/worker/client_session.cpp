#include "remote/server/worker/client_session.h"

#include <algorithm>

#include "remote/protocol/limits.h"
#include "remote/protocol/verify.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/handlers/ring_transfers.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

constexpr const char* kDisconnected = "disconnected";

bool takes_queue(wire::Body body) {
  return (body >= wire::Body::NDRange && body <= wire::Body::SvmFree) || body == wire::Body::FlushQueue ||
         body == wire::Body::FinishQueue;
}

}  // namespace

ClientSession::~ClientSession() {
  for (const auto& queue : context_.objects.queues()) {
    queue->stop_when_idle();
    queue->wait_until_stopped();
  }
  for (const auto& released : context_.released_queues) {
    if (const auto queue = released.lock()) queue->wait_until_stopped();
  }
}

bool ClientSession::has_work_in_flight() {
  return commands_begun_ != context_.outbox.commands_ended() || context_.builds.is_busy() ||
         context_.peers.is_busy();
}

std::string ClientSession::run() {
  const ClientLimits& limits = context_.limits;
  Time last_command = steady_clock::now();
  while (!context_.disconnected && context_.violation.empty()) {
    Time until = context_.input.last_received() + limits.silence;
    const bool is_idle_unlimited = limits.idle.count() == 0;
    if (!is_idle_unlimited) until = std::min(until, last_command + limits.idle);
    context_.input.spin();
    FrameHeader header;
    const ReadStatus status = context_.input.next(header, until);
    if (status == ReadStatus::closed) return kDisconnected;
    if (status == ReadStatus::timeout) {
      if (is_idle_unlimited || steady_clock::now() < last_command + limits.idle) return "silent for too long";
      if (has_work_in_flight()) {
        last_command = steady_clock::now();
        continue;
      }
      context_.outbox.send_goodbye("no command for too long");
      return "idle for too long";
    }
    const std::uint64_t before = commands();
    if (!execute_frame(header)) break;
    if (commands() != before) last_command = steady_clock::now();
  }
  return context_.violation.empty() ? kDisconnected : context_.violation;
}

bool ClientSession::execute_frame(const FrameHeader& header) {
  if (header.kind != FrameKind::commands) context_.report_violation("frame of an unexpected kind");
  const wire::Commands* const message =
      context_.violation.empty() ? verified_commands(context_.input.message(), header.payload) : nullptr;
  if (message == nullptr) {
    context_.report_violation("malformed message");
    return false;
  }
  if (message->commands() != nullptr && !execute_all(*message->commands())) return false;
  after_frame();
  busy_since_.store(0, std::memory_order_relaxed);
  return !context_.disconnected;
}

bool ClientSession::execute_all(const FrameCommands& commands) {
  context_.frame = &commands;
  context_.next_in_frame = 0;
  for (const wire::Command* const command : commands) {
    ++context_.next_in_frame;
    busy_since_.store(steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    if (!execute(*command)) return false;
  }
  context_.frame = nullptr;
  return true;
}

bool ClientSession::execute(const wire::Command& command) {
  SessionContext& session = context_;
  session.payload_left = command.payload();
  session.ring_started = false;
  if (command.body_type() != wire::Body::Ping) commands_.fetch_add(1, std::memory_order_relaxed);
  if (command.body_type() != wire::Body::Release) session.hand_to_watcher();
  if (command.queue() != 0) {
    if (!takes_queue(command.body_type())) session.report_violation("queue in a message that takes none");
    if (++commands_begun_ > session.outbox.commands_ended() + kMaxWindows * session.limits.window_commands)
      session.report_violation("too many commands in flight");
  }
  const bool in_ring = command.ring() != nullptr;
  if (command.shared() != nullptr && (session.shared == nullptr || (command.payload() != 0 && !in_ring)))
    session.report_violation("no shared memory was agreed on");
  if (session.violation.empty()) {
    const RequestTrace::Span span(trace_, commands(), command.body_type());
    dispatch(context_, command);
  }
  if (session.answers.is_large()) session.outbox.send(session.answers);
  if (in_ring && !session.disconnected && session.violation.empty()) return_ring_slots(session, command);
  if (session.disconnected || !session.violation.empty()) return false;
  if (session.payload_left > 0 && !session.input.skip_payload(session.payload_left))
    session.disconnected = true;
  return !session.disconnected;
}

// Answers go out together, and the driver's queues are flushed when there is nothing more to add to them. Then there is
// time to look whether the last command ends soon.
void ClientSession::after_frame() {
  constexpr unsigned kMaxFrames =
      32;  // a client thread that never pauses must not delay the flush for others
  const bool has_more =
      (!context_.unflushed.empty() || context_.polled_queue != nullptr) && context_.input.has_more();
  if (!context_.unflushed.empty() && (++context_.frames_unflushed > kMaxFrames || !has_more))
    context_.flush_queues();
  flush_answers();
  report_unawaited_if_crowded();
  if (has_more) context_.hand_to_watcher();
  if (context_.polled_queue == nullptr) return;
  context_.polled_queue->poll_awaited([this] { return context_.input.has_more(); });
  context_.polled_queue.reset();
}

// Queues do not look for the end of a few unawaited commands. On many queues those few may be all that the client's
// windows allow in flight, and then the client waits until they are reported.
void ClientSession::report_unawaited_if_crowded() {
  const ClientLimits& limits = context_.limits;
  const std::uint64_t most =
      std::min(limits.window_commands, limits.window_bytes / Pending::kLargePayload) / 2;
  if (commands_begun_ - context_.outbox.commands_ended() < most || commands_begun_ - checked_at_ < most / 2)
    return;
  checked_at_ = commands_begun_;
  for (const auto& queue : context_.objects.queues()) queue->report_unawaited();
}

void ClientSession::flush_answers() {
  const ClientLimits& limits = context_.limits;
  if (!context_.answers.empty() ||
      context_.outbox.has_unreported(limits.window_commands / 8, limits.window_bytes / 8))
    context_.outbox.send(context_.answers);
}

void handle(SessionContext& session, const wire::Command&, const wire::Ping& message) {
  const std::chrono::nanoseconds now = steady_clock::now().time_since_epoch();
  session.answers.add(
      wire::CreatePong(session.answers.builder(), message.number(), static_cast<std::uint64_t>(now.count())));
}

}  // namespace cleave::remote::server
