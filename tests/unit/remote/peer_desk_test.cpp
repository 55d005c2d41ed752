// Which servers the front reaches for contents that a worker requests.
#include "remote/server/front/peer_desk.h"

#include <array>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/files/file_descriptor.h"
#include "base/no_destructor.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace cleave::remote::server {
namespace {

constexpr std::chrono::seconds kLong{30};

// A TCP socket that listens.
class Listener {
 public:
  explicit Listener(int backlog) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.get(), generic(), sizeof address_), 0);
    EXPECT_EQ(::listen(socket_.get(), backlog), 0);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }

  [[nodiscard]] std::string text() const {
    return "tcp:127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
  }
  [[nodiscard]] std::unique_ptr<Stream> accept() const {
    return make_socket_stream(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  void shutdown() const { ::shutdown(socket_.get(), SHUT_RDWR); }
  // From now on it does not answer, as where a firewall drops what comes.
  void fall_silent() {
    for (base::FileDescriptor& each : queued_) {
      each = base::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(each.get(), generic(), sizeof address_);
    }
  }

 private:
  [[nodiscard]] const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&address_); }

  const base::FileDescriptor socket_;
  sockaddr_in address_{};
  std::array<base::FileDescriptor, 4> queued_;
};

// The source of the contents, which knows the ticket.
void serve(const Listener& listener, const Ticket& ticket) {
  const auto stream = listener.accept();
  const auto input = std::make_unique<FrameReader>(*stream, kLong);
  const Time until = std::chrono::steady_clock::now() + kLong;
  FrameHeader header;
  std::string why;
  if (input->next(header, until) != ReadStatus::data) return;
  const auto opening = read_opening(input->message());
  ASSERT_TRUE(opening);
  EXPECT_TRUE(check_target(*stream, *input, ticket, *opening, until, why)) << why;
}

TEST(PeerDesk, AddressThatDoesNotAnswerLeavesTimeForTheNext) {
  Listener silent(0);
  silent.fall_silent();
  const Listener answering(8);
  int control[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
  const base::FileDescriptor ours(control[0]);
  const Ticket ticket = *make_ticket();
  std::thread source([&] { serve(answering, ticket); });
  // Its threads may end after the test. So does what they write to.
  static base::NoDestructor<Options> options;
  const std::vector<std::string> addresses{silent.text(), answering.text()};
  for (const std::string& each : addresses) EXPECT_TRUE(options->peers.add(each));
  static base::NoDestructor<PeerDesk> desk(*options, control[1]);
  desk->handle({.kind = PeerMessage::Kind::fetch,
                .worker = 7,
                .number = 3,
                .ticket = as_bytes(ticket),
                .addresses = addresses});
  PacketReader reader;
  ASSERT_EQ(reader.read_socket(ours.get(), 0), ReadStatus::data);
  ASSERT_NE(reader.get<ipc::PeerMessage>(), nullptr);
  const PeerMessage message = decode(*reader.get<ipc::PeerMessage>());
  EXPECT_EQ(message.worker, 7U);
  EXPECT_EQ(message.kind, PeerMessage::Kind::connected) << message.why;
  EXPECT_EQ(reader.descriptors.size(), 1U);
  if (reader.descriptors.empty()) answering.shutdown();  // nobody has come
  source.join();
}

}  // namespace
}  // namespace cleave::remote::server
