#include "remote/server/supervisor/metrics.h"

#include <array>
#include <poll.h>
#include <string_view>
#include <thread>
#include <unistd.h>

#include <sys/socket.h>

#include "remote/transport/stream.h"

namespace cleave::remote::server {
namespace {

constexpr std::chrono::seconds kPatience{1};

// The head of a request, as far as it comes in time and in this many bytes.
std::string read_head(Stream& stream) {
  const Time until = std::chrono::steady_clock::now() + kPatience;
  std::string head;
  std::array<std::byte, 1024> buffer;
  while (head.size() < 8192 && head.find("\r\n\r\n") == std::string::npos) {
    std::size_t size = 0;
    if (stream.read(buffer, size, until) != ReadStatus::data) break;
    head.append(reinterpret_cast<const char*>(buffer.data()), size);
  }
  return head;
}

void answer(Stream& stream, const ServerStatistics& statistics) {
  const std::string head = read_head(stream);
  const bool found = head.starts_with("GET /metrics ") || head.starts_with("GET /metrics?");
  const std::string body = found ? statistics.as_text() : "only /metrics is here\n";
  std::string text = std::string("HTTP/1.1 ") + (found ? "200 OK" : "404 Not Found") +
                     "\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body;
  iovec part{text.data(), text.size()};
  stream.write(std::span(&part, 1), kPatience);
}

}  // namespace

void serve_metrics(int socket, const ServerStatistics& statistics) {
  std::thread([socket, &statistics] {
    while (true) {
      pollfd waited{socket, POLLIN, 0};
      ::poll(&waited, 1, -1);
      const int accepted = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted < 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        continue;
      }
      const auto stream = make_socket_stream(accepted);
      answer(*stream, statistics);
    }
  }).detach();
}

}  // namespace cleave::remote::server
