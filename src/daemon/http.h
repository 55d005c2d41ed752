// As much of HTTP as a metrics scraper and a health check need: one GET or HEAD request, one answer, and the connection is
// closed. Requests of more than kMaxRequestSize bytes, and peers that take longer than the timeout are cut off. So is, where
// there are kMaxConnections, the oldest of the peer that has the most, since a newcomer is served at once and those that are
// slow are not.
//
// For the event loop's thread. Destroyed after the loop has run for the last time and before the loop itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/asio.h"

namespace cleave::daemon {

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// The path in a request's first line, "GET /metrics HTTP/1.1", without its query. Empty for other methods and for what is
// not a request.
std::string_view requested_path(std::string_view request);

class HttpServer {
 public:
  static constexpr std::size_t kMaxConnections = 32;
  static constexpr std::size_t kMaxConnectionsOfPeer = 24;
  static constexpr std::size_t kMaxRequestSize = 4096;

  // Answers the request of a path.
  using PageHandler = std::function<HttpAnswer(std::string_view path)>;

  // `places`: for connections, where fewer descriptors are free than kMaxConnections.
  HttpServer(PageHandler pages, std::chrono::milliseconds patience, std::size_t places = kMaxConnections);

  void admit(Stream stream);

 private:
  class Connection;

  struct OpenConnections;

  PageHandler page_handler_;
  std::chrono::milliseconds patience_;
  std::shared_ptr<OpenConnections> open_;  // connections may outlive this object
};

}  // namespace cleave::daemon
