#include "remote/server/outbox.h"

#include <utility>

#include "remote/transport/frames.h"

namespace cleave::remote::server {
namespace {

Duration::rep now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

Outbox::Outbox(Stream& stream, Printed& printed, Duration patience, std::function<void()> gone)
    : stream_(stream), printed_(printed), patience_(patience), gone_(std::move(gone)), last_sent_(now()) {}

void Outbox::send(EventsFrame& frame) {
  const std::scoped_lock lock(writing_);
  write_printed();
  write(frame);
}

void Outbox::send_printed() {
  const std::scoped_lock lock(writing_);
  write_printed();
}

void Outbox::say_goodbye(const std::string& why) {
  EventsFrame frame;
  frame.add(wire::CreateGoodbye(frame.builder(), frame.builder().CreateString(why)));
  send(frame);
}

void Outbox::write_printed() {
  while (true) {
    const auto text = printed_.take();
    if (text.empty()) return;
    EventsFrame frame;
    frame.add(wire::CreateOutput(frame.builder()), text);
    write(frame);
  }
}

void Outbox::write(EventsFrame& frame) {
  const std::uint64_t commands = commands_ended();
  const std::uint64_t bytes = bytes_ended();
  const auto message = frame.finish(commands, bytes);
  if (!write_frame(stream_, FrameKind::events, message, frame.payloads(), patience_)) gone_();
  told_commands_.store(commands, std::memory_order_relaxed);
  told_bytes_.store(bytes, std::memory_order_relaxed);
  last_sent_.store(now(), std::memory_order_relaxed);
  frame.clear();
}

}  // namespace cleave::remote::server
