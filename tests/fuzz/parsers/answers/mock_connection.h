// One connection of the server that a harness plays.
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

// The deeds of one server that are still to be done, over all its connections.
struct ScriptProgress {
  const Script& plan;
  const std::vector<Fault>& faults;
  unsigned number = 0;  // the server's
  std::size_t next = 0;
  unsigned answered = 0;  // since the last one
};

class MockConnection {
 public:
  // Takes the socket over.
  MockConnection(int socket, ScriptProgress& course);
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
  bool act(const Fault& deed, const wire::Command& command);
  bool owe(const wire::Command& command);
  void note(std::span<const std::uint8_t> message, std::uint64_t payload);
  bool say(const Said& said, remote::FrameKind kind = remote::FrameKind::events);
  bool send_faulty(const Fault& deed, std::vector<std::uint8_t> message, std::uint64_t payload);
  bool on_idle();

  bool carry(const wire::Command& command);
  bool carry_write(const wire::Command& command);
  bool carry_read(const wire::Command& command);
  std::span<std::byte> shared(std::uint64_t offset, std::uint64_t size) const;

  // What the command in hand has not been told yet.
  struct Owed {
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
  Owed owed_;
  std::deque<Said> late_;
  bool broken_ = false;           // what was said is no frame, and the client may be waiting for its rest
  bool windows_unknown_ = false;  // what the client believes of the windows may be wrong
  bool windows_small_ = false;    // and so are they
  unsigned window_updates_ = 0;
  std::uint64_t commands_ = 0;  // that are no signs of life
};

}  // namespace cleave::fuzz::answers
