#include "monitor/client.h"

#include <algorithm>
#include <span>

#include "daemon/peer_stream.h"

namespace cleave::monitor {
namespace {

constexpr std::size_t kReadSize = 256;
// Bytes of input between two heartbeats: more than any client needs, and too few to keep the loop from the others.
constexpr std::size_t kInputPerHeartbeat = 4096;

}  // namespace

void Client::start() {
  input_allowance_ = kInputPerHeartbeat;
  send_pending();
  wait_until_readable();
}

void Client::append(std::string_view line) {
  std::copy(line.begin(), line.end(), out_.begin() + static_cast<std::ptrdiff_t>(out_end_));
  out_end_ += line.size();
}

// Fills the empty buffer with the lines that are due; false if there are none. A greeting and a total fit in together.
bool Client::fill() {
  out_begin_ = out_end_ = 0;
  if (!greeted_) append(owner_.greeting());
  greeted_ = true;
  if (sent_sequence_ != owner_.sequence()) {
    append(owner_.total_line());
    sent_sequence_ = owner_.sequence();
  } else if (alive_due_) {
    append(owner_.alive_line());
  }
  alive_due_ = false;
  return out_end_ > 0;
}

void Client::send_pending() {
  if (blocked_since_ || !stream_.is_open()) return;
  while (out_begin_ != out_end_ || fill()) {
    daemon::ErrorCode error;
    const std::size_t taken =
        stream_.write_some(asio::buffer(&out_[out_begin_], out_end_ - out_begin_), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return wait_until_writable();
    if (error) return owner_.drop(*this, ClientOwner::DropReason::left);
    out_begin_ += taken;
  }
}

void Client::wait_until_writable() {
  blocked_since_ = owner_.now();
  stream_.async_wait(daemon::Stream::wait_write, [self = shared_from_this()](const daemon::ErrorCode& error) {
    if (error) return;
    self->blocked_since_.reset();
    self->send_pending();
  });
}

void Client::wait_until_readable() {
  if (reading_ || input_closed_ || input_allowance_ == 0 || !stream_.is_open()) return;
  reading_ = true;
  stream_.async_wait(daemon::Stream::wait_read, [self = shared_from_this()](const daemon::ErrorCode& error) {
    self->reading_ = false;
    if (!error) self->read();
  });
}

void Client::read() {
  if (!stream_.is_open()) return;
  std::array<char, kReadSize> bytes{};
  daemon::ErrorCode error;
  const std::size_t got = daemon::read_from_peer(
      stream_, std::span(bytes).first(std::min(bytes.size(), input_allowance_)), error);
  if (error == asio::error::eof) {
    // The client may have closed only its own direction. If it has disconnected, sending this line fails.
    input_closed_ = alive_due_ = true;
    return send_pending();
  }
  if (error && error != asio::error::would_block && error != asio::error::try_again) {
    return owner_.drop(*this, ClientOwner::DropReason::left);
  }
  input_allowance_ -= got;
  const ClientInput::ParsedInput heard = input_.take({bytes.data(), got});
  if (heard.too_long) return owner_.drop(*this, ClientOwner::DropReason::long_line);
  if (heard.ping) {
    alive_due_ = true;
    send_pending();
  }
  wait_until_readable();
}

void Client::send_heartbeat(TimePoint now, std::chrono::milliseconds patience) {
  if (blocked_since_ && now - *blocked_since_ > patience)
    return owner_.drop(*this, ClientOwner::DropReason::slow);
  input_allowance_ = kInputPerHeartbeat;
  wait_until_readable();
  alive_due_ = true;
  send_pending();
}

void Client::disconnect(std::string_view last_line) {
  daemon::ErrorCode ignored;
  // Not in the middle of another line.
  if (out_begin_ == out_end_ && !last_line.empty()) {
    stream_.write_some(asio::buffer(last_line.data(), last_line.size()), ignored);
  }
  stream_.shutdown(daemon::Stream::shutdown_send, ignored);
  daemon::close_peer(stream_);
}

}  // namespace cleave::monitor
