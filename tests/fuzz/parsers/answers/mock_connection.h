// One connection of the mock server.
//
// Not thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "mock_server.h"
#include "remote/protocol/frame.h"
#include "remote/transport/frames.h"
#include "remote/transport/stream.h"
#include "script.h"

namespace cleave::fuzz::answers {

// The remaining deviations of one server's script, over all its connections.
struct ScriptProgress {
  const Script& script;
  const std::vector<Fault>& faults;
  unsigned number = 0;  // the server's
  std::size_t next = 0;
  unsigned answered = 0;  // since the last one
};

class MockConnection {
 public:
  // Takes ownership of the socket.
  MockConnection(int socket, ScriptProgress& progress);
  MockConnection(const MockConnection&) = delete;
  MockConnection& operator=(const MockConnection&) = delete;
  ~MockConnection();

  // Returns at the connection's end.
  void run();

 private:
  bool greet();
  bool take_frame(const remote::FrameHeader& header);
  bool take(const wire::Command& command);
  bool answer(const wire::Command& command);
  bool act(const Fault& fault, const wire::Command& command);
  bool defer_answer(const wire::Command& command);
  void note(std::span<const std::uint8_t> message, std::uint64_t payload);
  bool send(const MockFrame& frame, remote::FrameKind kind = remote::FrameKind::events);
  bool send_faulty(const Fault& fault, std::vector<std::uint8_t> message, std::uint64_t payload);
  bool on_idle();

  bool carry(const wire::Command& command);
  bool carry_write(const wire::Command& command);
  bool carry_read(const wire::Command& command);
  std::span<std::byte> shared(std::uint64_t offset, std::uint64_t size) const;

  // What has not been sent yet for the current command.
  struct PendingReply {
    std::uint32_t request = 0;
    std::uint64_t event = 0;
  };

  const int socket_;
  ScriptProgress& progress_;
  std::unique_ptr<remote::Stream> stream_;
  std::unique_ptr<remote::FrameReader> input_;
  MockServer mock_server_;
  std::span<std::byte> memory_;
  Totals totals_;
  PendingReply pending_;
  std::deque<MockFrame> late_;
  bool broken_ = false;           // an incomplete frame was sent, and the client may be waiting for its rest
  bool windows_unknown_ = false;  // the client's view of the windows may be wrong
  bool windows_small_ = false;    // and the windows small
  unsigned window_updates_ = 0;
  std::uint64_t commands_ = 0;  // without heartbeats
};

}  // namespace cleave::fuzz::answers
