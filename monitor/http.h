// The few words of HTTP that a scraper and a health check speak: one GET or HEAD, one answer, and the
// connection is closed. Connections are few, short and small: more than kMaxConnections at a time, requests beyond
// kMaxRequestSize bytes, and peers that take longer than the patience, are cut off.
//
// Lives in the event loop's thread. Destroyed as the hub is (hub.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "monitor/asio.h"

namespace cleave::monitor {

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// The path of a request's first line, "GET /metrics HTTP/1.1"; its query is left out. Empty where it is no
// request, or of another method.
std::string_view requested_path(std::string_view request);

class HttpServer {
 public:
  static constexpr std::size_t kMaxConnections = 32;
  static constexpr std::size_t kMaxRequestSize = 4096;

  // Gets the path of each request.
  using PageHandler = std::function<HttpAnswer(std::string_view path)>;

  HttpServer(PageHandler pages, std::chrono::milliseconds patience)
      : page_handler_(std::move(pages)), patience_(patience) {}

  void admit(Stream stream);

 private:
  class Connection;

  PageHandler page_handler_;
  std::chrono::milliseconds patience_;
  std::shared_ptr<std::size_t> connections_ =
      std::make_shared<std::size_t>(0);  // those that are left outlive us
};

}  // namespace cleave::monitor
