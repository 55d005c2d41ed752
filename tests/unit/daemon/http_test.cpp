#include "daemon/http.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cleave::daemon
