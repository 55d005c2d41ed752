#include "daemon/http.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "daemon/peer_key.h"
#include "daemon/peer_shares.h"
#include "daemon/peer_stream.h"

#include <asio/write.hpp>

namespace cleave::daemon {
namespace {

std::string_view reason(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    default:
      return "Service Unavailable";
  }
}

std::string as_text(const HttpAnswer& answer, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + ' ';
  text.append(reason(answer.status)).append("\r\nContent-Type: ").append(answer.type);
  text.append("\r\nContent-Length: ").append(std::to_string(answer.body.size()));
  text.append("\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  return with_body ? text.append(answer.body) : text;
}

constexpr std::string_view kHead = "HEAD ";
constexpr std::string_view kGet = "GET ";

}  // namespace

std::string_view requested_path(std::string_view request) {
  std::string_view line = request.substr(0, request.find_first_of("\r\n"));
  const std::string_view method = line.starts_with(kHead) ? kHead : kGet;
  if (!line.starts_with(method)) return {};
  line.remove_prefix(method.size());
  const auto space = line.find(' ');
  if (space == std::string_view::npos || !line.substr(space + 1).starts_with("HTTP/1.")) return {};
  const std::string_view target = line.substr(0, space);
  return target.substr(0, target.find('?'));
}

struct HttpServer::OpenConnections {
  explicit OpenConnections(std::size_t places)
      : shares(places, std::min(kMaxConnectionsOfPeer, places), PeerShares::WhenFull::oldest_goes) {}

  PeerShares shares;
  std::map<PeerShares::Id, Connection*> by_id;
  PeerShares::Id latest = 0;
};

// Kept alive by its pending operations.
class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Stream stream, HttpServer& server)
      : stream_(std::move(stream)), timer_(stream_.get_executor()), server_(server), open_(server.open_) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    close_peer(stream_);
    open_->shares.remove(id_);
    open_->by_id.erase(id_);
  }

  // Takes a place, perhaps another's.
  void enter() {
    const PeerShares::Place place = open_->shares.add(id_, {.key = peer_key(stream_.native_handle())});
    const auto displaced = open_->by_id.find(place.instead.value_or(0));
    if (displaced != open_->by_id.end()) displaced->second->cut();
    open_->by_id[id_] = this;
  }
  // Its operations end with errors, and with them its life.
  void cut() { close_peer(stream_); }

  void start() {
    timer_.expires_after(server_.patience_);
    timer_.async_wait([self = weak_from_this()](const ErrorCode& error) {
      const auto connection = self.lock();
      if (!error && connection) connection->cut();
    });
    wait_for_request();
  }

 private:
  void wait_for_request() {
    stream_.async_wait(Stream::wait_read, [self = shared_from_this()](const ErrorCode& error) {
      if (!error) self->read();
    });
  }

  void read() {
    std::array<char, 1024> bytes;
    ErrorCode error;
    const std::size_t most = std::min(bytes.size(), kMaxRequestSize - text_.size());
    const std::size_t got = read_from_peer(stream_, std::span(bytes).first(most), error);
    if (error && error != asio::error::would_block && error != asio::error::try_again) return;
    text_.append(bytes.data(), got);
    if (text_.find("\r\n\r\n") != std::string::npos || text_.size() == kMaxRequestSize) return answer();
    wait_for_request();
  }

  void answer() {
    const std::string_view path = requested_path(text_);
    const bool head = text_.starts_with(kHead);
    text_ = as_text(
        path.empty() ? HttpAnswer{400, "text/plain", "only GET and HEAD\n"} : server_.page_handler_(path),
        !head);
    asio::async_write(stream_, asio::buffer(text_),
                      [self = shared_from_this()](const ErrorCode&, std::size_t) {
                        ErrorCode ignored;
                        self->stream_.shutdown(Stream::shutdown_both, ignored);
                        self->timer_.cancel();
                      });
  }

  Stream stream_;
  asio::steady_timer timer_;
  HttpServer& server_;  // not used after the loop has ended
  const std::shared_ptr<OpenConnections> open_;
  const PeerShares::Id id_ = ++open_->latest;
  std::string text_;  // the request, then the answer
};

HttpServer::HttpServer(PageHandler pages, std::chrono::milliseconds patience, std::size_t places)
    : page_handler_(std::move(pages)),
      patience_(patience),
      open_(std::make_shared<OpenConnections>(std::min(places, kMaxConnections))) {}

void HttpServer::admit(Stream stream) {
  const auto connection = std::make_shared<Connection>(std::move(stream), *this);
  connection->enter();
  connection->start();
}

}  // namespace cleave::daemon
