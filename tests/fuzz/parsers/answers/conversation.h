// One connection of the server that a harness plays.
//
// Not thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "faith.h"
#include "plan.h"
#include "remote/protocol/frame.h"
#include "remote/transport/frames.h"
#include "remote/transport/stream.h"

namespace cleave::fuzz::answers {

// The deeds of one server that are still to be done, over all its connections.
struct Course {
  const Plan& plan;
  const std::vector<Deed>& deeds;
  unsigned number = 0;  // the server's
  std::size_t next = 0;
  unsigned answered = 0;  // since the last one
};

class Conversation {
 public:
  // Takes the socket over.
  Conversation(int socket, Course& course);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation();

  // Returns at the connection's end.
  void run();

 private:
  bool greet();
  bool take_frame(const remote::FrameHeader& header);
  bool take(const wire::Command& command);
  bool answer(const wire::Command& command);
  bool act(const Deed& deed, const wire::Command& command);
  bool owe(const wire::Command& command);
  void note(std::span<const std::uint8_t> message, std::uint64_t payload);
  bool say(const Said& said, remote::FrameKind kind = remote::FrameKind::events);
  bool say_odd(const Deed& deed, std::vector<std::uint8_t> message, std::uint64_t payload);
  bool be_idle();

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
  Course& course_;
  std::unique_ptr<remote::Stream> stream_;
  std::unique_ptr<remote::FrameInput> input_;
  Faith faith_;
  std::span<std::byte> memory_;
  Totals totals_;
  Owed owed_;
  std::deque<Said> late_;
  bool broken_ = false;     // what was said is no frame, and the client may be waiting for its rest
  bool in_doubt_ = false;   // what the client believes of the windows may be wrong
  bool is_narrow_ = false;  // and so are they
  unsigned doubts_ = 0;
  std::uint64_t commands_ = 0;  // that are no signs of life
};

}  // namespace cleave::fuzz::answers
