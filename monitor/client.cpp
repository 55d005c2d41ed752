#include "monitor/client.h"

#include <algorithm>
#include <utility>

#include "monitor/hub.h"

namespace cleave::monitor {
namespace {

constexpr std::size_t kAtATime = 256;
// Between two beats. Nobody has more to say, and who does must not keep the loop from the others.
constexpr std::size_t kAllowance = 4096;

}  // namespace

void Client::start() {
  allowance_ = kAllowance;
  offer();
  wait_until_readable();
}

void Client::append(std::string_view line) {
  std::copy(line.begin(), line.end(), out_.begin() + static_cast<std::ptrdiff_t>(end_));
  end_ += line.size();
}

// Puts what there is to say into the empty buffer; false if there is nothing. A greeting and a total fit in
// together.
bool Client::fill() {
  begin_ = end_ = 0;
  if (!greeted_) append(hub_.greeting());
  greeted_ = true;
  if (told_ != hub_.sequence()) {
    append(hub_.total_line());
    told_ = hub_.sequence();
  } else if (owes_alive_) {
    append(hub_.alive_line());
  }
  owes_alive_ = false;
  return end_ > 0;
}

void Client::offer() {
  if (blocked_ || !stream_.is_open()) return;
  while (begin_ != end_ || fill()) {
    ErrorCode error;
    const std::size_t taken = stream_.write_some(asio::buffer(&out_[begin_], end_ - begin_), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return wait_until_writable();
    if (error) return hub_.drop(*this, Hub::Gone::left);
    begin_ += taken;
  }
}

void Client::wait_until_writable() {
  blocked_ = hub_.now();
  stream_.async_wait(Stream::wait_write, [self = shared_from_this()](const ErrorCode& error) {
    if (error) return;
    self->blocked_.reset();
    self->offer();
  });
}

void Client::wait_until_readable() {
  if (reading_ || deaf_ || allowance_ == 0 || !stream_.is_open()) return;
  reading_ = true;
  stream_.async_wait(Stream::wait_read, [self = shared_from_this()](const ErrorCode& error) {
    self->reading_ = false;
    if (!error) self->read();
  });
}

void Client::read() {
  if (!stream_.is_open()) return;
  std::array<char, kAtATime> bytes{};
  ErrorCode error;
  const std::size_t got =
      stream_.read_some(asio::buffer(bytes.data(), std::min(bytes.size(), allowance_)), error);
  if (error == asio::error::eof) {
    // It may only have closed its own direction. If it is gone, this line says so.
    deaf_ = owes_alive_ = true;
    return offer();
  }
  if (error && error != asio::error::would_block && error != asio::error::try_again) {
    return hub_.drop(*this, Hub::Gone::left);
  }
  allowance_ -= got;
  const ClientInput::Heard heard = input_.take({bytes.data(), got});
  if (heard.too_long) return hub_.drop(*this, Hub::Gone::long_line);
  if (heard.ping) {
    owes_alive_ = true;
    offer();
  }
  wait_until_readable();
}

void Client::beat(TimePoint now, std::chrono::milliseconds patience) {
  if (blocked_ && now - *blocked_ > patience) return hub_.drop(*this, Hub::Gone::slow);
  allowance_ = kAllowance;
  wait_until_readable();
  owes_alive_ = true;
  offer();
}

void Client::hang_up(std::string_view last_line) {
  ErrorCode ignored;
  // In the middle of a line another one would only garble it.
  if (begin_ == end_ && !last_line.empty()) {
    stream_.write_some(asio::buffer(last_line.data(), last_line.size()), ignored);
  }
  stream_.shutdown(Stream::shutdown_send, ignored);
  stream_.close(ignored);
}

}  // namespace cleave::monitor
