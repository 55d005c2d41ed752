// What is sent to a socket that is full, with a receiver under the test's control.
#include "remote/client/link/outbox.h"

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/unit/remote/memory_stream.h"

namespace cleave::remote::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMost = std::size_t{64} << 10U;
constexpr seconds kStallTimeout{30};

// The byte at a place of all that is sent: what comes in another order differs.
std::byte byte_at(std::size_t place) { return static_cast<std::byte>((place * 2654435761U) >> 16U); }

// An outbox, and the other end of its socket.
class OutboxTest : public testing::Test {
 protected:
  explicit OutboxTest(Duration stall_timeout = kStallTimeout) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const int small = 1;  // the system makes it a few KiB
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    stream_ = make_socket_stream(ends[0]);
    receiver_ = make_socket_stream(ends[1]);
    const auto start = [this] {
      if (has_no_threads_) return false;
      sender_ = std::thread([this] { outbox_->send_until_closed(); });
      return true;
    };
    outbox_.emplace(*stream_, stall_timeout, start, kMost);
  }
  ~OutboxTest() override {
    stream_->shutdown();
    outbox_->close();
    if (sender_.joinable()) sender_.join();
  }

  bool send(std::size_t size, const WhileBlocked& while_blocked = {}) {
    std::vector<std::byte> bytes(size);
    for (std::byte& each : bytes) each = byte_at(written_++);
    const std::size_t half = size / 2;
    std::array<iovec, 3> parts{{{bytes.data(), half}, {nullptr, 0}, {bytes.data() + half, size - half}}};
    const bool good = outbox_->write(parts, while_blocked);
    std::fill(bytes.begin(), bytes.end(), std::byte{});  // it is the caller's again
    EXPECT_LE(outbox_->held(), kMost);
    return good;
  }
  // Until the socket is full and something is held; no call waits.
  void fill() {
    while (outbox_->held() == 0) EXPECT_TRUE(send(1000, [] { ADD_FAILURE() << "waits"; }));
  }

  // Reads at most that much of what has come, and checks it.
  std::size_t receive(std::size_t most) {
    std::vector<std::byte> bytes(most);
    std::size_t size = 0;
    if (receiver_->read(bytes, size, std::chrono::steady_clock::now() + kStallTimeout) != ReadStatus::data)
      return 0;
    for (std::size_t i = 0; i < size; ++i, ++received_) {
      if (bytes[i] == byte_at(received_)) continue;
      ADD_FAILURE() << "byte " << received_ << " is another one's";
      return 0;
    }
    return size;
  }
  void receive_all(std::size_t size) {
    while (received_ < size) {
      if (receive(777) == 0) return ADD_FAILURE() << "only " << received_ << " of " << size;
    }
  }

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stream> receiver_;
  std::optional<Outbox> outbox_;
  std::thread sender_;
  bool has_no_threads_ = false;
  std::size_t written_ = 0;
  std::size_t received_ = 0;
};

TEST_F(OutboxTest, ReaderThatKeepsUpNeedsNoThread) {
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_TRUE(send(1000));
    receive_all(written_);
  }
  EXPECT_FALSE(sender_.joinable());
}

TEST_F(OutboxTest, OrderIsKeptBehindASlowReader) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < 1000; ++i) total += i * 37 % 5000;
  auto reader = std::async(std::launch::async, [&] { receive_all(total); });
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_TRUE(send(i * 37 % 5000));
  EXPECT_TRUE(outbox_->drain({}));
  EXPECT_EQ(outbox_->held(), 0U);
  reader.get();
}

TEST_F(OutboxTest, CallerGoesOnUpToTheBoundAndWaitsBeyondIt) {
  fill();
  while (outbox_->held() + 1000 <= kMost) EXPECT_TRUE(send(1000, [] { ADD_FAILURE() << "waits"; }));
  unsigned waits = 0;
  EXPECT_TRUE(send(1000, [&] {
    ++waits;
    receive(777);
  }));
  EXPECT_GT(waits, 0U);
  receive_all(written_);
}

TEST_F(OutboxTest, MessageBeyondTheBoundIsSentBehindTheOthers) {
  fill();
  EXPECT_TRUE(send(3 * kMost, [&] { receive(5000); }));
  EXPECT_TRUE(send(10));
  receive_all(written_);
}

TEST_F(OutboxTest, DrainWaitsForTheSocket) {
  fill();
  unsigned waits = 0;
  EXPECT_TRUE(outbox_->drain([&] {
    ++waits;
    receive(777);
  }));
  EXPECT_GT(waits, 0U);
  EXPECT_EQ(outbox_->held(), 0U);
}

TEST_F(OutboxTest, WithoutAThreadTheCallerWaits) {
  has_no_threads_ = true;
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_TRUE(send(1000, [&] { receive(5000); }));
    EXPECT_EQ(outbox_->held(), 0U);
  }
  receive_all(written_);
}

TEST_F(OutboxTest, ClosedConnectionEndsTheWait) {
  fill();
  EXPECT_FALSE(send(kMost, [&] { receiver_->shutdown(); }));
  EXPECT_FALSE(send(1));
  EXPECT_FALSE(outbox_->drain({}));
}

// Between two looks of a caller that waits nothing may happen but the end.
TEST_F(OutboxTest, EndOfTheConnectionEndsTheWait) {
  fill();
  auto caller = std::async(std::launch::async, [&] { return outbox_->drain({}); });
  stream_->shutdown();
  outbox_->close();
  EXPECT_FALSE(caller.get());
}

class StalledOutboxTest : public OutboxTest {
 protected:
  StalledOutboxTest() : OutboxTest(milliseconds(50)) {}
};

TEST_F(StalledOutboxTest, ReaderThatTakesNothingIsGivenUp) {
  fill();
  EXPECT_FALSE(outbox_->drain({}));
  std::size_t size = 0;
  std::array<std::byte, 4096> bytes;
  ReadStatus end = ReadStatus::data;
  while (end == ReadStatus::data)
    end = receiver_->read(bytes, size, std::chrono::steady_clock::now() + kStallTimeout);
  EXPECT_EQ(end, ReadStatus::closed) << "the stream is shut down";
}

TEST(Outbox, StreamThatCannotWriteAPartIsWrittenToDirectly) {
  MemoryStream stream;
  Outbox outbox(stream, kStallTimeout, [] { return ADD_FAILURE() << "a thread", false; });
  std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  iovec part{bytes.data(), bytes.size()};
  EXPECT_TRUE(outbox.write(std::span(&part, 1), {}));
  EXPECT_EQ(stream.bytes.size(), bytes.size());
}

}  // namespace
}  // namespace cleave::remote::client
