// Whole frames on a stream: header and message are read into a buffer, the payload directly to its destination, decompressed
// where it was compressed (payload_blocks.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "remote/protocol/frame.h"
#include "remote/transport/brief_spin.h"
#include "remote/transport/payload_blocks.h"
#include "remote/transport/stream.h"

namespace cleave::remote {

// Reads frames, one after the other: next(), then its whole payload with read_payload() and skip_payload(), then next().
//
// Not thread-safe, except for last_received().
class FrameReader {
 public:
  // `stall_timeout`: how long the peer may be silent within a frame.
  FrameReader(Stream& stream, Duration stall_timeout);

  // `timeout`: no frame has begun to arrive. `closed`: the connection is closed, or what arrived is not a frame or has a message
  // of more than `most` bytes.
  ReadStatus next(FrameHeader& header, Time until, std::uint32_t most = kMaxMessageSize);

  // From now on payloads may come in blocks. Before that, one that does ends the connection.
  void accept_blocks() { accepts_blocks_ = true; }

  // To be called before next() if a frame is expected soon: polls for it for a short time without sleeping (brief_spin.h).
  void spin();

  // The message of the current frame; aligned for FlatBuffers, valid until next().
  [[nodiscard]] std::span<const std::byte> message() const;

  // Reads or skips the next bytes of the payload. False: the connection is closed, or a block is not valid.
  bool read_payload(std::span<std::byte> into);
  bool skip_payload(std::uint64_t size);

  // Whether more data has arrived. Makes a system call only if nothing is buffered.
  [[nodiscard]] bool has_more();
  // Whether data has been read from the stream that next() has not consumed.
  [[nodiscard]] bool has_buffered() const { return begin_ != end_; }

  // When a byte last arrived: any byte shows that the peer is alive. For any thread.
  [[nodiscard]] Time last_received() const {
    return Time(Duration(last_received_.load(std::memory_order_relaxed)));
  }

  void set_stall_timeout(Duration stall_timeout) { stall_timeout_ = stall_timeout; }

  // Everything must have been read by this time; with the stall timeout alone a peer could send single bytes forever.
  void set_deadline(Time end) { deadline_ = end; }

 private:
  static constexpr std::chrono::microseconds kSpinTime{50};

  ReadStatus fill(Time until);
  [[nodiscard]] Time read_deadline() const;
  void note_received();
  bool read_exactly(std::span<std::byte> into);
  bool read_plain(std::span<std::byte> into);
  bool read_blocks(std::span<std::byte> into);
  bool begin_block(std::span<std::byte>& into);

  Stream& stream_;
  Duration stall_timeout_;
  Time deadline_ = Time::max();
  std::atomic<Duration::rep> last_received_{0};
  BriefSpin spin_{kSpinTime};
  std::array<std::byte, 16U << 10U> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::vector<std::uint64_t> message_;
  std::size_t message_size_ = 0;

  // Payloads in blocks.
  struct Blocks {
    std::vector<std::byte> wire;     // of a compressed block
    std::vector<std::byte> decoded;  // of one that is read in parts
    BlockDecoder decoder;
  };
  bool accepts_blocks_ = false;
  bool in_blocks_ = false;              // the current payload
  std::uint64_t payload_left_ = 0;      // of it, in blocks that have not begun
  std::uint32_t plain_left_ = 0;        // of a block that is not compressed
  std::span<const std::byte> decoded_;  // of a block that is
  std::unique_ptr<Blocks> blocks_;      // made by the first compressed block
};

// Writes one frame, its payload in blocks if `writer` (which may be null, and is of this stream) chooses so. Callers
// serialise their calls. False: the connection is closed, or has accepted no data for `stall_timeout`.
bool write_frame(Stream& stream, FrameKind kind, std::span<const std::byte> message,
                 std::span<const std::span<const std::byte>> payloads, Duration stall_timeout,
                 PayloadWriter* writer = nullptr);

}  // namespace cleave::remote
