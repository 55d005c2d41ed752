#include "remote/transport/frames.h"

#include <algorithm>
#include <cstring>

namespace cleave::remote {
namespace {

iovec part(std::span<const std::byte> bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

}  // namespace

FrameReader::FrameReader(Stream& stream, Duration stall_timeout)
    : stream_(stream), stall_timeout_(stall_timeout) {
  note_received();
}

void FrameReader::note_received() {
  last_received_.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                       std::memory_order_relaxed);
}

Time FrameReader::read_deadline() const {
  return std::min(std::chrono::steady_clock::now() + stall_timeout_, deadline_);
}

ReadStatus FrameReader::fill(Time until) {
  begin_ = end_ = 0;
  const ReadStatus got = stream_.read(buffer_, end_, until);
  if (got == ReadStatus::data) note_received();
  return got;
}

ReadStatus FrameReader::next(FrameHeader& header, Time until, std::uint32_t most) {
  if (begin_ == end_) {
    const ReadStatus got = fill(until);
    if (got != ReadStatus::data) return got;
  }
  HeaderBytes bytes;
  if (!read_exactly(bytes)) return ReadStatus::closed;
  const auto decoded = decode(bytes);
  if (!decoded || decoded->message > most) return ReadStatus::closed;
  if (decoded->in_blocks && !accepts_blocks_) return ReadStatus::closed;
  header = *decoded;
  in_blocks_ = header.in_blocks;
  payload_left_ = header.payload;
  plain_left_ = 0;
  decoded_ = {};
  message_size_ = header.message;
  message_.resize((message_size_ + 7) / 8);
  return read_exactly(std::as_writable_bytes(std::span(message_)).first(message_size_)) ? ReadStatus::data
                                                                                        : ReadStatus::closed;
}

void FrameReader::spin() {
  if (begin_ == end_) spin_.until([this] { return fill(kNoWait) != ReadStatus::timeout; });
}

std::span<const std::byte> FrameReader::message() const {
  return std::as_bytes(std::span(message_)).first(message_size_);
}

bool FrameReader::read_exactly(std::span<std::byte> into) {
  while (!into.empty()) {
    if (begin_ == end_) {
      // Reads larger than the buffer bypass it.
      if (into.size() >= buffer_.size()) return read_plain(into);
      if (fill(read_deadline()) != ReadStatus::data) return false;
    }
    const std::size_t size = std::min(into.size(), end_ - begin_);
    std::memcpy(into.data(), buffer_.data() + begin_, size);
    begin_ += size;
    into = into.subspan(size);
  }
  return true;
}

bool FrameReader::read_payload(std::span<std::byte> into) {
  return in_blocks_ ? read_blocks(into) : read_plain(into);
}

bool FrameReader::read_plain(std::span<std::byte> into) {
  const std::size_t buffered = std::min(into.size(), end_ - begin_);
  if (buffered > 0) std::memcpy(into.data(), buffer_.data() + begin_, buffered);
  begin_ += buffered;
  into = into.subspan(buffered);
  while (into.size() >= buffer_.size()) {
    std::size_t size = 0;
    if (stream_.read(into, size, read_deadline()) != ReadStatus::data) return false;
    note_received();
    into = into.subspan(size);
  }
  return read_exactly(into);
}

bool FrameReader::skip_payload(std::uint64_t size) {
  std::array<std::byte, 1024> discarded;
  while (size > 0) {
    const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(size, discarded.size()));
    if (!read_payload(std::span(discarded).first(now))) return false;
    size -= now;
  }
  return true;
}

bool FrameReader::read_blocks(std::span<std::byte> into) {
  while (!into.empty()) {
    if (!decoded_.empty()) {
      const std::size_t now = std::min(into.size(), decoded_.size());
      std::memcpy(into.data(), decoded_.data(), now);
      decoded_ = decoded_.subspan(now);
      into = into.subspan(now);
    } else if (plain_left_ != 0) {
      const std::size_t now = std::min<std::size_t>(into.size(), plain_left_);
      if (!read_plain(into.first(now))) return false;
      plain_left_ -= static_cast<std::uint32_t>(now);
      into = into.subspan(now);
    } else if (!begin_block(into)) {
      return false;
    }
  }
  return true;
}

// A block that is wanted whole is decompressed to where it goes, and removed from `into`.
bool FrameReader::begin_block(std::span<std::byte>& into) {
  BlockHeaderBytes bytes;
  if (!read_exactly(bytes)) return false;
  const auto block = decode_block(bytes, payload_left_);
  if (!block) return false;
  payload_left_ -= block->payload;
  if (!block->is_compressed()) {
    plain_left_ = block->payload;
    return true;
  }
  if (!blocks_) blocks_ = std::make_unique<Blocks>();
  blocks_->wire.resize(kMaxBlock);
  const auto wire = std::span(blocks_->wire).first(block->wire);
  if (!read_plain(wire)) return false;
  if (into.size() >= block->payload) {
    const auto whole = into.first(block->payload);
    into = into.subspan(block->payload);
    return blocks_->decoder.decode(wire, whole);
  }
  blocks_->decoded.resize(kMaxBlock);
  const auto decoded = std::span(blocks_->decoded).first(block->payload);
  decoded_ = decoded;
  return blocks_->decoder.decode(wire, decoded);
}

bool FrameReader::has_more() { return has_buffered() || stream_.has_data(); }

bool write_frame(Stream& stream, FrameKind kind, std::span<const std::byte> message,
                 std::span<const std::span<const std::byte>> payloads, Duration stall_timeout,
                 PayloadWriter* writer) {
  FrameHeader frame{kind, static_cast<std::uint32_t>(message.size()), 0};
  for (const auto& payload : payloads) frame.payload += payload.size();
  if (writer != nullptr && writer->wants(frame.payload)) {
    writer->begin(frame, message, stall_timeout);
    for (const auto& payload : payloads) {
      if (!writer->add(payload)) return false;
    }
    return writer->end();
  }
  const HeaderBytes header = encode(frame);
  std::vector<iovec> parts;
  parts.reserve(2 + payloads.size());
  parts.push_back(part(header));
  parts.push_back(part(message));
  for (const auto& payload : payloads) parts.push_back(part(payload));
  return stream.write(parts, stall_timeout);
}

}  // namespace cleave::remote
