#include "remote/server/sending/outbox.h"

#include <utility>

#include "remote/transport/frames.h"

namespace cleave::remote::server {
namespace {

Duration::rep now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

Outbox::Outbox(Stream& stream, KernelOutput& printed, Duration send_timeout, std::function<void()> on_lost)
    : stream_(stream),
      kernel_output_(printed),
      send_timeout_(send_timeout),
      on_lost_(std::move(on_lost)),
      last_sent_(now()) {}

void Outbox::send(EventsFrame& frame) {
  const base::MutexLock lock(mutex_);
  write_kernel_output();
  write(frame);
}

void Outbox::send_kernel_output() {
  const base::MutexLock lock(mutex_);
  write_kernel_output();
}

void Outbox::send_goodbye(const std::string& why) {
  EventsFrame frame;
  frame.add(wire::CreateGoodbye(frame.builder(), frame.builder().CreateString(why)));
  send(frame);
}

void Outbox::write_kernel_output() {
  while (true) {
    const auto text = kernel_output_.take();
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
  PayloadWriter* const writer = payload_writer_ ? &*payload_writer_ : nullptr;
  if (!write_frame(stream_, FrameKind::events, message, frame.payloads(), send_timeout_, writer)) on_lost_();
  reported_commands_.store(commands, std::memory_order_relaxed);
  reported_bytes_.store(bytes, std::memory_order_relaxed);
  last_sent_.store(now(), std::memory_order_relaxed);
  frame.clear();
}

}  // namespace cleave::remote::server
