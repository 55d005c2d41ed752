#include "daemon/http.h"

#include <array>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/files/file_descriptor.h"

namespace cleave::daemon {
namespace {

TEST(Http, ParsesThePath) {
  EXPECT_EQ(requested_path("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "/metrics");
  EXPECT_EQ(requested_path("HEAD /healthz HTTP/1.0\r\n\r\n"), "/healthz");
  EXPECT_EQ(requested_path("GET /metrics?name=x HTTP/1.1\r\n"), "/metrics");
}

TEST(Http, MalformedRequestHasNoPath) {
  for (const char* request : {"", "GET", "GET /", "GET / \r\n", "POST / HTTP/1.1\r\n", "get / HTTP/1.1\r\n",
                              "GET  HTTP/1.1\r\n", "GET /\r\nHTTP/1.1\r\n", "\r\nGET / HTTP/1.1"}) {
    EXPECT_EQ(requested_path(request), "") << request;
  }
}

class HttpServerTest : public testing::Test {
 protected:
  // The client's end of a connection that has been admitted.
  base::FileDescriptor connect() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    server_.admit(Stream(context_, asio::generic::stream_protocol(AF_UNIX, 0), ends[0]));
    return base::FileDescriptor(ends[1]);
  }
  // Everything that can happen now, happens.
  void turn() {
    context_.restart();
    context_.poll();
  }
  void ask(const base::FileDescriptor& client) {
    EXPECT_TRUE(base::write_all(client.get(), "GET / HTTP/1.1\r\n\r\n"));
    turn();
  }
  // How much has come; negative: it has been closed without an answer.
  static ssize_t answer_of(const base::FileDescriptor& client) {
    std::array<char, 256> text{};
    const ssize_t got = ::recv(client.get(), text.data(), text.size(), MSG_DONTWAIT);
    return got == 0 ? -1 : got;
  }

  asio::io_context context_;
  HttpServer server_{[](std::string_view) {
                       return HttpAnswer{200, "text/plain", std::string(1 << 20, 'x')};
                     },
                     std::chrono::hours(1)};
};

TEST_F(HttpServerTest, SlowReadersKeepNobodyOut) {
  std::vector<base::FileDescriptor> slow;
  for (std::size_t i = 0; i < 2 * HttpServer::kMaxConnections; ++i) {
    slow.push_back(connect());
    if (i % 2 == 0) ask(slow.back());  // one that does not read, alongside one that sends nothing
  }
  const base::FileDescriptor quick = connect();
  ask(quick);
  EXPECT_GT(answer_of(quick), 0);
  EXPECT_LT(answer_of(slow[1]), 0) << "the oldest have been closed";
}

TEST_F(HttpServerTest, NoMoreConnectionsAreOpenThanMayBe) {
  std::vector<base::FileDescriptor> all;
  for (std::size_t i = 0; i < 3 * HttpServer::kMaxConnections; ++i) all.push_back(connect());
  turn();
  std::size_t open = 0;
  for (const base::FileDescriptor& each : all) {
    char byte = 0;
    if (::recv(each.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) ++open;
  }
  EXPECT_EQ(open, HttpServer::kMaxConnectionsOfPeer);
}

}  // namespace
}  // namespace cleave::daemon
