#include "monitor/listener.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <linux/vm_sockets.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <asio/ip/tcp.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace cleave::monitor {
namespace {

// For want of descriptors or memory nobody can be let in; until somebody leaves there is no use in trying all
// the time.
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

// Lines are short and only the newest matters: with small buffers who does not read is noticed soon, and
// costs little.
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

std::string Listener::where() const {
  union {
    sockaddr_storage storage;
    sockaddr_un path;
    sockaddr_vm vsock;
  } name{};
  socklen_t size = sizeof name;
  const int fd = const_cast<Acceptor&>(acceptor_).native_handle();  // it does not change the acceptor
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name.storage), &size) != 0) return "?";
  base::Address address;
  if (socket_.family == AF_UNIX) {
    address.path.assign(name.path.sun_path, size - offsetof(sockaddr_un, sun_path));
    if (!address.path.empty() && address.path.front() == '\0') address.path.front() = '@';
    address.path.resize(
        std::min(address.path.find('\0'), address.path.size()));  // the kernel counts its end, too
  } else if (socket_.family == AF_VSOCK) {
    address.kind = base::Address::Kind::vsock;
    address.cid = name.vsock.svm_cid;
    address.port = name.vsock.svm_port;
  } else {
    asio::ip::tcp::endpoint endpoint;
    endpoint.resize(size);
    std::memcpy(endpoint.data(), &name.storage, size);
    address.kind = base::Address::Kind::tcp;
    address.host = endpoint.address().to_string();
    address.port = endpoint.port();
  }
  return base::as_text(address);
}

}  // namespace cleave::monitor
