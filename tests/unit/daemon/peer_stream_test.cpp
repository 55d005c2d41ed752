#include "daemon/peer_stream.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/files/file_descriptor.h"
#include "daemon/http.h"
#include "tests/kit/lingering_socket.h"

namespace cleave::daemon {
namespace {

constexpr std::chrono::seconds kLongestWait{60};  // sockets here linger for an hour

// Sends the text with a socket that lingers, of which the receiver then has the last reference.
void send_with_lingering_socket(int to, std::string_view text, kit::LingeringSockets& sockets) {
  const base::FileDescriptor lingering(sockets.make());
  const int number = lingering.get();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof number);
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  ASSERT_EQ(::sendmsg(to, &message, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

class PeerStreamTest : public testing::Test {
 protected:
  PeerStreamTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    peer_ = base::FileDescriptor(ends[0]);
    stream_.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
    stream_.non_blocking(true);
  }

  // Whether the call ends although nothing that lingers does.
  template <typename Call>
  bool ends(Call call) {
    auto done = std::async(std::launch::async, std::move(call));
    const bool in_time = done.wait_for(kLongestWait) == std::future_status::ready;
    sockets_.release();  // so that the test ends, too
    return in_time;
  }

  std::string_view read() {
    const std::size_t got = read_from_peer(stream_, bytes_, error_);
    return {bytes_.data(), got};
  }

  kit::LingeringSockets sockets_;
  asio::io_context context_;
  base::FileDescriptor peer_;
  Stream stream_{context_};
  std::array<char, 64> bytes_{};
  ErrorCode error_;
};

TEST_F(PeerStreamTest, BytesAreRead) {
  EXPECT_EQ(read(), "");
  EXPECT_EQ(error_, asio::error::would_block);
  ASSERT_TRUE(base::write_all(peer_.get(), "ping\n"));
  EXPECT_EQ(read(), "ping\n");
  EXPECT_FALSE(error_);
  peer_.close();
  EXPECT_EQ(read(), "");
  EXPECT_EQ(error_, asio::error::eof);
}

TEST_F(PeerStreamTest, BytesWithADescriptorAreRefusedWithoutWaiting) {
  ASSERT_TRUE(base::write_all(peer_.get(), "before\n"));
  send_with_lingering_socket(peer_.get(), "with\n", sockets_);
  EXPECT_TRUE(ends([&] {
    while (!error_) read();
    EXPECT_EQ(error_, asio::error::access_denied);
    close_peer(stream_);
  }));
  EXPECT_FALSE(stream_.is_open());
}

TEST_F(PeerStreamTest, ClosingDoesNotWaitForWhatWasNotRead) {
  send_with_lingering_socket(peer_.get(), "with\n", sockets_);
  EXPECT_TRUE(ends([&] { close_peer(stream_); }));
}

TEST_F(PeerStreamTest, MetricsAreServedBesidePeersThatSendDescriptors) {
  HttpServer server(
      [](std::string_view) {
        return HttpAnswer{200, "text/plain", "x"};
      },
      std::chrono::hours(1));
  server.admit(std::move(stream_));
  send_with_lingering_socket(peer_.get(), "GET / HTTP/1.1\r\n\r\n", sockets_);
  EXPECT_TRUE(ends([&] { context_.poll(); }));
  std::array<char, 16> answer{};
  const ssize_t got = ::recv(peer_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  EXPECT_TRUE(got == 0 || (got < 0 && errno == ECONNRESET)) << "it has been disconnected";
}

}  // namespace
}  // namespace cleave::daemon
