#include "daemon/listener.h"

#include <utility>

#include <sys/socket.h>

#include <asio/ip/tcp.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace cleave::daemon {
namespace {

// Without free descriptors or memory no connection can be accepted. They become free when other connections end, so a
// retry can wait.
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

// Messages are short and only the newest matters: with small buffers a peer that does not read is noticed soon, and costs
// little.
constexpr int kSendBuffer = 4096;
constexpr int kReceiveBuffer = 4096;

}  // namespace

Listener::Listener(asio::io_context& context, ListeningSocket socket, std::chrono::milliseconds patience,
                   ConnectionHandler handler)
    : socket_(std::move(socket)),
      acceptor_(context, asio::generic::stream_protocol(socket_.family, 0), socket_.socket.get()),
      retry_(context),
      patience_(patience),
      handler_(std::move(handler)) {
  socket_.socket.release();
  acceptor_.non_blocking(true);
  accept();
}

void Listener::accept() {
  acceptor_.async_accept([this](const ErrorCode& error, Stream stream) {
    if (error == asio::error::operation_aborted) return;
    if (error == asio::error::connection_aborted) return accept();
    if (error) return retry_accept();
    configure(stream);
    handler_(std::move(stream));
    accept();
  });
}

void Listener::retry_accept() {
  retry_.expires_after(kAcceptRetryDelay);
  retry_.async_wait([this](const ErrorCode& error) {
    if (!error) accept();
  });
}

void Listener::configure(Stream& stream) const {
  ErrorCode ignored;
  stream.non_blocking(true, ignored);
  stream.set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
  stream.set_option(asio::socket_base::receive_buffer_size(kReceiveBuffer), ignored);
  if (socket_.family != AF_INET && socket_.family != AF_INET6) return;
  stream.set_option(asio::ip::tcp::no_delay(true), ignored);
  const auto patience = static_cast<unsigned>(patience_.count());
  ::setsockopt(stream.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

void Listener::stop() {
  ErrorCode ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  socket_ = ListeningSocket{};
}

std::string Listener::address() const {
  // native_handle() does not change the acceptor.
  return base::as_text(bound_address(const_cast<Acceptor&>(acceptor_).native_handle()));
}

}  // namespace cleave::daemon
