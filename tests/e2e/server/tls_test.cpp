// TLS: its streams, both ends in this process and what is between them in the test's hands; and the server.
#include "remote/transport/tls.h"

#include <array>
#include <atomic>
#include <numeric>
#include <poll.h>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/opencl.h"
#include "remote/transport/listen.h"
#include "tests/e2e/server/certificates.h"
#include "tests/e2e/server/raw_client.h"
#include "tests/e2e/server/server_process.h"

#include <netinet/in.h>

namespace cleave::remote {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kTlsData = 1U << 20U;
constexpr seconds kLong{20};

class Tls : public WithCertificates {
 protected:
  Tls() {
    make_authority("ours");
    make_certificate("server", "ours");
    make_certificate("client", "ours");
  }

  [[nodiscard]] TlsFiles files(const std::string& name) const {
    return {path("ours.pem"), path(name + ".pem"), path(name + ".key")};
  }
};

// Two ends that have shaken hands, and a wire from the client to the server on which only passes what pass()
// says. The other way is open.
class TlsPair {
 public:
  TlsPair(const TlsFiles& client_files, const TlsFiles& server_files) {
    std::array<int, 2> near = narrow_pair();
    int far[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, far), 0);
    from_client_ = near[1];
    to_server_ = far[1];
    back_ = std::thread([this] { relay(to_server_, from_client_); });
    std::thread forth([this] {
      while (!is_made_) pass(from_client_, to_server_, 4096, milliseconds(10));
    });
    std::string problem;
    const auto maker = TlsServer::make(server_files, problem);
    EXPECT_TRUE(maker) << problem;
    std::thread accepting([&] { server = maker->accept(far[0], steady_clock::now() + kLong, name).stream; });
    client = connect_tls(near[0], "127.0.0.1", client_files, steady_clock::now() + kLong).stream;
    accepting.join();
    is_made_ = true;
    forth.join();
  }
  TlsPair(const TlsPair&) = delete;
  TlsPair& operator=(const TlsPair&) = delete;
  ~TlsPair() {
    for (const int end : {from_client_, to_server_}) ::shutdown(end, SHUT_RDWR);
    back_.join();
    client.reset();
    server.reset();
    for (const int end : {from_client_, to_server_}) ::close(end);
  }

  // At most so many bytes of what the client has sent, or is about to send; how many.
  std::size_t pass(std::size_t most) { return pass(from_client_, to_server_, most, kLong); }
  void pass_if_any(std::size_t most) { pass(from_client_, to_server_, most, milliseconds(0)); }
  // They are lost.
  void drop(std::size_t bytes) {
    std::vector<std::byte> buffer(bytes);
    EXPECT_EQ(::recv(from_client_, buffer.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }

  std::string name;  // that the client's certificate gives
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;

 private:
  // TCP, as little of which is on its way as the system allows.
  static std::array<int, 2> narrow_pair() {
    const Listening listening = listen_on(*read_endpoint("tcp:127.0.0.1:0"), 0);
    const int least = 1;
    ::setsockopt(listening.socket, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listening.socket, reinterpret_cast<sockaddr*>(&address), &size);
    const int near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::setsockopt(near, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
    EXPECT_EQ(::connect(near, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_TRUE(wait_for(listening.socket, POLLIN, steady_clock::now() + kLong));
    const int far = ::accept4(listening.socket, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_GE(far, 0);
    ::close(listening.socket);
    return {near, far};
  }
  static std::size_t pass(int from, int to, std::size_t most, milliseconds wait) {
    std::array<std::byte, 4096> buffer;
    if (!wait_for(from, POLLIN, steady_clock::now() + wait)) return 0;
    const ssize_t got = ::recv(from, buffer.data(), std::min(most, buffer.size()), 0);
    if (got <= 0) return 0;
    const ssize_t sent = ::send(to, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
    return sent == got ? static_cast<std::size_t>(got) : 0;
  }
  static void relay(int from, int to) {
    while (pass(from, to, 4096, kLong) > 0) {
    }
  }

  int from_client_ = -1;
  int to_server_ = -1;
  std::atomic<bool> is_made_{false};
  std::thread back_;
};

bool write_text(Stream& stream, std::string text, Duration patience = kLong) {
  iovec part{text.data(), text.size()};
  return stream.write(std::span(&part, 1), patience);
}

TEST_F(Tls, HalfARecordIsNothingYet) {
  TlsPair pair(files("client"), files("server"));
  ASSERT_TRUE(pair.client && pair.server);
  EXPECT_EQ(pair.name, "client");
  EXPECT_FALSE(pair.server->has_data());
  ASSERT_TRUE(write_text(*pair.client, "twelve bytes"));
  std::array<std::byte, 64> buffer;
  std::size_t size = 0;
  for (const std::size_t most : {3, 2, 10}) {
    ASSERT_EQ(pair.pass(most), most);
    EXPECT_FALSE(pair.server->has_data());
    EXPECT_EQ(pair.server->read(buffer, size, kNoWait), ReadStatus::timeout);
    EXPECT_FALSE(pair.server->has_data());
  }
  ASSERT_GT(pair.pass(4096), 0U);
  EXPECT_TRUE(pair.server->has_data());
  ASSERT_EQ(pair.server->read(buffer, size, kNoWait), ReadStatus::data);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(buffer.data()), size), "twelve bytes");
  EXPECT_FALSE(pair.server->has_data());
}

TEST_F(Tls, ARecordThatIsSpoiltIsTheEndAndSaysSo) {
  TlsPair pair(files("client"), files("server"));
  ASSERT_TRUE(pair.client && pair.server);
  ASSERT_TRUE(write_text(*pair.client, "twelve bytes"));
  ASSERT_EQ(pair.pass(20), 20U);
  ASSERT_TRUE(write_text(*pair.client, "twelve bytes"));
  // What is left out makes another record of it.
  std::size_t size = 0;
  std::array<std::byte, 64> buffer;
  pair.drop(5);
  while (!pair.server->has_data()) ASSERT_GT(pair.pass(4096), 0U);
  EXPECT_EQ(pair.server->read(buffer, size, kNoWait), ReadStatus::closed);
  EXPECT_EQ(pair.server->last_words().substr(0, 5), "TLS: ");
  EXPECT_EQ(pair.server->read(buffer, size, steady_clock::now() + kLong), ReadStatus::closed);
}

// A record takes several times the patience, each part of it much less.
TEST_F(Tls, ASlowWireIsNotADeadOne) {
  constexpr seconds kPatienceOfWrite{2};
  TlsPair pair(files("client"), files("server"));
  ASSERT_TRUE(pair.client && pair.server);
  std::atomic<bool> is_over{false};
  std::thread slow([&] {
    while (!is_over) {
      std::this_thread::sleep_for(milliseconds(100));
      pair.pass_if_any(512);
    }
  });
  EXPECT_TRUE(write_text(*pair.client, std::string(std::size_t{24} << 10U, 'x'), kPatienceOfWrite));
  is_over = true;
  slow.join();
}

TEST_F(Tls, LetsInWhomItKnows) {
  make_authority("theirs");
  make_certificate("stranger", "theirs");
  ServerProcess server(
      {"--tls-cert", path("server.pem"), "--tls-key", path("server.key"), "--client-ca", path("ours.pem")},
      "tls:127.0.0.1:0");
  const Endpoint endpoint = server.endpoint();
  ASSERT_TRUE(endpoint.tls);
  RawClient client(endpoint, {path("ours.pem"), path("client.pem"), path("client.key")});
  ASSERT_TRUE(client.stream) << client.problem;
  ASSERT_TRUE(client.begin());
  EXPECT_TRUE(server.says("(client)"));
  auto& b = client.builder;
  client.add({}, wire::CreateCreateContext(b, kContext, b.CreateVector<std::uint64_t>({client.device})));
  client.add({}, wire::CreateCreateQueue(b, kQueue, kContext, client.device,
                                         b.CreateVector<std::uint64_t>({0}), true));
  client.add({}, wire::CreateCreateBuffer(b, kBuffer, kContext, CL_MEM_READ_WRITE, kTlsData));
  std::vector<cl_int> data(kTlsData / sizeof(cl_int));
  std::iota(data.begin(), data.end(), 3);
  client.add({.queue = kQueue, .payload = kTlsData},
             wire::CreateWriteBuffer(client.builder, kBuffer, 0, kTlsData));
  client.add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(client.builder, kBuffer, 0, kTlsData));
  client.send({std::as_bytes(std::span(data))});
  ASSERT_TRUE(client.await_answer(1));
  EXPECT_EQ(std::memcmp(client.heard.data[1].data(), data.data(), kTlsData), 0);
  // Strangers, people without a certificate, and servers that are somebody else's.
  RawClient stranger(endpoint, {path("ours.pem"), path("stranger.pem"), path("stranger.key")});
  EXPECT_FALSE(stranger.stream && stranger.begin());
  RawClient nobody(endpoint, {path("ours.pem"), {}, {}});
  EXPECT_FALSE(nobody.stream && nobody.begin());
  RawClient wary(endpoint, {path("theirs.pem"), path("client.pem"), path("client.key")});
  EXPECT_FALSE(wary.stream);
  EXPECT_NE(wary.problem.find("TLS"), std::string::npos);
}

TEST_F(Tls, FilesThatCannotBeUsedAreKnownAtTheStart) {
  run("cd " + folder_ +
      " && openssl ec -in server.key -aes256 -passout pass:secret -out locked.key 2>/dev/null");
  for (const std::string key : {"client.key", "absent.key", "locked.key"}) {
    ServerProcess server(
        {"--tls-cert", path("server.pem"), "--tls-key", path(key), "--client-ca", path("ours.pem")},
        "tls:127.0.0.1:0");
    EXPECT_TRUE(server.says("TLS: " + path(key) + " cannot be used ("));
    EXPECT_EQ(WEXITSTATUS(server.stop(0)), 2);
    EXPECT_EQ(server.text().find("listening"), std::string::npos);
  }
}

}  // namespace
}  // namespace cleave::remote
