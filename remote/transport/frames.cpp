#include "remote/transport/frames.h"

#include <algorithm>
#include <cstring>

namespace cleave::remote {
namespace {

iovec part(std::span<const std::byte> bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

}  // namespace

FrameInput::FrameInput(Stream& stream, Duration patience) : stream_(stream), patience_(patience) {
  note_heard();
}

void FrameInput::note_heard() {
  heard_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

Time FrameInput::patient_until() const {
  return std::min(std::chrono::steady_clock::now() + patience_, all_until_);
}

Got FrameInput::fill(Time until) {
  begin_ = end_ = 0;
  const Got got = stream_.read(buffer_, end_, until);
  if (got == Got::data) note_heard();
  return got;
}

Got FrameInput::next(FrameHeader& header, Time until, std::uint32_t most) {
  if (begin_ == end_) {
    const Got got = fill(until);
    if (got != Got::data) return got;
  }
  HeaderBytes bytes;
  if (!read_exactly(bytes)) return Got::gone;
  const auto decoded = decode(bytes);
  if (!decoded || decoded->message > most) return Got::gone;
  header = *decoded;
  message_size_ = header.message;
  message_.resize((message_size_ + 7) / 8);
  return read_exactly(std::as_writable_bytes(std::span(message_)).first(message_size_)) ? Got::data
                                                                                        : Got::gone;
}

void FrameInput::linger() {
  if (begin_ == end_) linger_.until([this] { return fill(kAtOnce) != Got::timeout; });
}

std::span<const std::byte> FrameInput::message() const {
  return std::as_bytes(std::span(message_)).first(message_size_);
}

bool FrameInput::read_exactly(std::span<std::byte> into) {
  while (!into.empty()) {
    if (begin_ == end_) {
      // What is larger than the buffer does not go through it.
      if (into.size() >= buffer_.size()) return read_payload(into);
      if (fill(patient_until()) != Got::data) return false;
    }
    const std::size_t size = std::min(into.size(), end_ - begin_);
    std::memcpy(into.data(), buffer_.data() + begin_, size);
    begin_ += size;
    into = into.subspan(size);
  }
  return true;
}

bool FrameInput::read_payload(std::span<std::byte> into) {
  const std::size_t buffered = std::min(into.size(), end_ - begin_);
  if (buffered > 0) std::memcpy(into.data(), buffer_.data() + begin_, buffered);
  begin_ += buffered;
  into = into.subspan(buffered);
  while (into.size() >= buffer_.size()) {
    std::size_t size = 0;
    if (stream_.read(into, size, patient_until()) != Got::data) return false;
    note_heard();
    into = into.subspan(size);
  }
  return read_exactly(into);
}

bool FrameInput::skip_payload(std::uint64_t size) {
  std::array<std::byte, 8192> nowhere;
  while (size > 0) {
    const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(size, nowhere.size()));
    if (!read_exactly(std::span(nowhere).first(now))) return false;
    size -= now;
  }
  return true;
}

bool FrameInput::has_more() { return has_buffered() || stream_.has_some(); }

bool write_frame(Stream& stream, FrameKind kind, std::span<const std::byte> message,
                 std::span<const std::span<const std::byte>> payloads, Duration patience) {
  std::uint64_t size = 0;
  for (const auto& payload : payloads) size += payload.size();
  const HeaderBytes header = encode({kind, static_cast<std::uint32_t>(message.size()), size});
  std::vector<iovec> parts;
  parts.reserve(2 + payloads.size());
  parts.push_back(part(header));
  parts.push_back(part(message));
  for (const auto& payload : payloads) parts.push_back(part(payload));
  return stream.write(parts, patience);
}

}  // namespace cleave::remote
