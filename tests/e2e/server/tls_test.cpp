// TLS streams, with both ends in this process and a connection between them that the test controls; and the server.
#include "remote/transport/tls.h"

#include <array>
#include <atomic>
#include <numeric>
#include <poll.h>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/opencl.h"
#include "daemon/listening_socket.h"
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

class Tls : public CertificateTest {
 protected:
  Tls() {
    make_authority("authority");
    make_certificate("server", "authority");
    make_certificate("client", "authority");
  }

  [[nodiscard]] TlsFiles files(const std::string& name) const {
    return {path("authority.pem"), path(name + ".pem"), path(name + ".key")};
  }
};

// Two ends after their handshake. From the client to the server, only what pass() forwards gets through; the other
// direction is open.
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

  // Forwards at most so many bytes that the client has sent or is about to send. Returns how many.
  std::size_t pass(std::size_t most) { return pass(from_client_, to_server_, most, kLong); }
  void pass_if_any(std::size_t most) { pass(from_client_, to_server_, most, milliseconds(0)); }
  // The client's connection is reset, as by a machine that has restarted.
  void reset_client() const {
    const sockaddr none{};  // AF_UNSPEC
    EXPECT_EQ(::connect(from_client_, &none, sizeof none), 0);
  }
  // Loses bytes.
  void drop(std::size_t bytes) {
    std::vector<std::byte> buffer(bytes);
    EXPECT_EQ(::recv(from_client_, buffer.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }

  std::string name;  // in the client's certificate
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;

 private:
  // TCP with the smallest buffers that the system allows.
  static std::array<int, 2> narrow_pair() {
    const daemon::ListeningSocket listener = daemon::listen_on(read_endpoint("tcp:127.0.0.1:0")->address, {});
    const int listening = listener.socket.get();
    const int least = 1;
    ::setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
    const int near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::setsockopt(near, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
    EXPECT_EQ(::connect(near, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_TRUE(wait_for(listening, POLLIN, steady_clock::now() + kLong));
    const int far = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_GE(far, 0);
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

bool write_text(Stream& stream, std::string text, Duration timeout = kLong) {
  iovec part{text.data(), text.size()};
  return stream.write(std::span(&part, 1), timeout);
}

TEST_F(Tls, PartialRecordIsNotReadable) {
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

TEST_F(Tls, CorruptRecordEndsTheConnectionWithAReason) {
  TlsPair pair(files("client"), files("server"));
  ASSERT_TRUE(pair.client && pair.server);
  ASSERT_TRUE(write_text(*pair.client, "twelve bytes"));
  ASSERT_EQ(pair.pass(20), 20U);
  ASSERT_TRUE(write_text(*pair.client, "twelve bytes"));
  // Without these bytes the record's authentication fails.
  std::size_t size = 0;
  std::array<std::byte, 64> buffer;
  pair.drop(5);
  while (!pair.server->has_data()) ASSERT_GT(pair.pass(4096), 0U);
  EXPECT_EQ(pair.server->read(buffer, size, kNoWait), ReadStatus::closed);
  EXPECT_EQ(pair.server->close_reason().substr(0, 5), "TLS: ");
  EXPECT_EQ(pair.server->read(buffer, size, steady_clock::now() + kLong), ReadStatus::closed);
}

// A SIGPIPE would end this process.
TEST_F(Tls, WriteToAResetConnectionFailsWithoutASignal) {
  TlsPair pair(files("client"), files("server"));
  ASSERT_TRUE(pair.client && pair.server);
  pair.reset_client();
  while (write_text(*pair.client, "twelve bytes")) {
  }
  EXPECT_FALSE(write_text(*pair.client, "twelve bytes"));
}

// A record takes several times the timeout, each part of it much less.
TEST_F(Tls, SlowTransferDoesNotTimeOut) {
  constexpr seconds kWriteTimeout{2};
  TlsPair pair(files("client"), files("server"));
  ASSERT_TRUE(pair.client && pair.server);
  std::atomic<bool> is_over{false};
  std::thread slow([&] {
    while (!is_over) {
      std::this_thread::sleep_for(milliseconds(100));
      pair.pass_if_any(512);
    }
  });
  EXPECT_TRUE(write_text(*pair.client, std::string(std::size_t{24} << 10U, 'x'), kWriteTimeout));
  is_over = true;
  slow.join();
}

TEST_F(Tls, OnlyTrustedCertificatesConnect) {
  make_authority("other");
  make_certificate("untrusted", "other");
  ServerProcess server({"--tls-cert", path("server.pem"), "--tls-key", path("server.key"), "--client-ca",
                        path("authority.pem")},
                       "tls:127.0.0.1:0");
  const Endpoint endpoint = server.endpoint();
  ASSERT_TRUE(endpoint.tls);
  RawClient client(endpoint, {path("authority.pem"), path("client.pem"), path("client.key")});
  ASSERT_TRUE(client.stream) << client.problem;
  ASSERT_TRUE(client.begin());
  EXPECT_TRUE(server.logs("(certificate:client)"));
  client.create_objects(kTlsData);
  std::vector<cl_int> data(kTlsData / sizeof(cl_int));
  std::iota(data.begin(), data.end(), 3);
  client.add({.queue = kQueue, .payload = kTlsData},
             wire::CreateWriteBuffer(client.builder, kBuffer, 0, kTlsData));
  client.add({.request = 1, .queue = kQueue}, wire::CreateReadBuffer(client.builder, kBuffer, 0, kTlsData));
  client.send({std::as_bytes(std::span(data))});
  ASSERT_TRUE(client.await_answer(1));
  EXPECT_EQ(std::memcmp(client.received.data[1].data(), data.data(), kTlsData), 0);
  // A client of another authority, one without a certificate, and a client that trusts another authority.
  RawClient untrusted(endpoint, {path("authority.pem"), path("untrusted.pem"), path("untrusted.key")});
  EXPECT_FALSE(untrusted.stream && untrusted.begin());
  RawClient anonymous(endpoint, {path("authority.pem"), {}, {}});
  EXPECT_FALSE(anonymous.stream && anonymous.begin());
  RawClient distrusting(endpoint, {path("other.pem"), path("client.pem"), path("client.key")});
  EXPECT_FALSE(distrusting.stream);
  EXPECT_NE(distrusting.problem.find("TLS"), std::string::npos);
}

TEST_F(Tls, UnusableFilesAreReportedAtStart) {
  run("openssl ec -in server.key -aes256 -passout pass:secret -out locked.key 2>/dev/null");
  for (const std::string key : {"client.key", "absent.key", "locked.key"}) {
    ServerProcess server(
        {"--tls-cert", path("server.pem"), "--tls-key", path(key), "--client-ca", path("authority.pem")},
        "tls:127.0.0.1:0");
    EXPECT_TRUE(server.refuses("TLS: " + path(key) + " cannot be used (")) << server.log();
  }
}

}  // namespace
}  // namespace cleave::remote
