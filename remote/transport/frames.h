// Whole frames on a stream: their header and message read into memory of our own, their payload straight to
// where it belongs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "remote/protocol/frame.h"
#include "remote/transport/brief_spin.h"
#include "remote/transport/stream.h"

namespace cleave::remote {

// Reads frames, one after the other: next(), then all of its payload by read_payload() and skip_payload(),
// then next(). Not thread-safe: one thread at a time.
class FrameReader {
 public:
  // `stall_timeout`: how long the peer may be silent within a frame.
  FrameReader(Stream& stream, Duration stall_timeout);

  // `timeout`: no frame has begun to come. `gone`: the connection is, or what came is no frame, or larger
  // than `most`.
  ReadStatus next(FrameHeader& header, Time until, std::uint32_t most = kMaxMessageSize);

  // Before next(), of who expects something soon: looks for it for a short while without sleeping (linger.h).
  void spin();

  // The message of the frame that next() found; aligned for FlatBuffers, valid until the next one.
  [[nodiscard]] std::span<const std::byte> message() const;

  // The next so many bytes of the payload. False: the connection is gone.
  bool read_payload(std::span<std::byte> into);
  bool skip_payload(std::uint64_t size);

  // Whether more has come already. Asks the system only where nothing is buffered.
  [[nodiscard]] bool has_more();
  // Whether it has been read from the stream.
  [[nodiscard]] bool has_buffered() const { return begin_ != end_; }

  // When something last came: any byte is a sign of life. For any thread.
  [[nodiscard]] Time last_received() const {
    return Time(Duration(last_received_.load(std::memory_order_relaxed)));
  }

  void set_stall_timeout(Duration stall_timeout) { stall_timeout_ = stall_timeout; }

  // Whatever is read has to come until then, and not only some of it now and then.
  void set_deadline(Time end) { deadline_ = end; }

 private:
  static constexpr std::chrono::microseconds kSpinTime{50};

  ReadStatus fill(Time until);
  [[nodiscard]] Time read_deadline() const;
  void note_received();
  bool read_exactly(std::span<std::byte> into);

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
};

// Writes one frame as a whole. Callers take turns. False: the connection is gone, or takes nothing for
// `stall_timeout`.
bool write_frame(Stream& stream, FrameKind kind, std::span<const std::byte> message,
                 std::span<const std::span<const std::byte>> payloads, Duration stall_timeout);

}  // namespace cleave::remote
