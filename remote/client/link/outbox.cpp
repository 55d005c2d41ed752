#include "remote/client/link/outbox.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace cleave::remote::client {
namespace {

// How often a caller that is blocked looks after other things.
constexpr std::chrono::milliseconds kBlockedCheckPeriod{1};

std::size_t size_of(std::span<const iovec> parts) {
  std::size_t size = 0;
  for (const iovec& part : parts) size += part.iov_len;
  return size;
}

}  // namespace

Outbox::Outbox(Stream& stream, Duration stall_timeout, Start start, std::size_t most)
    : stream_(stream), stall_timeout_(stall_timeout), start_(std::move(start)), most_(most) {}

std::size_t Outbox::held() {
  const base::MutexLock lock(mutex_);
  return held_;
}

bool Outbox::write(std::span<iovec> parts, const WhileBlocked& while_blocked) {
  if (!stream_.can_write_some()) return stream_.write(parts, stall_timeout_, while_blocked);
  base::MutexLock lock(mutex_);
  if (held_ == 0) {  // then the thread leaves the stream alone
    lock.unlock();
    if (!stream_.write_some(parts)) return false;
    if (parts.empty()) return true;
    lock.lock();
  }
  const std::size_t size = size_of(parts);
  if (!wait_for_room(lock, size, while_blocked)) return false;
  if (size <= most_ - held_ && prepare()) {
    hold(parts);
    added_.notify_one();
    return true;
  }
  lock.unlock();
  return stream_.write(parts, stall_timeout_, while_blocked);
}

bool Outbox::drain(const WhileBlocked& while_blocked) {
  base::MutexLock lock(mutex_);
  return wait_for_room(lock, most_, while_blocked);
}

// Until that many bytes fit, or nothing is held. False: closed.
bool Outbox::wait_for_room(base::MutexLock& lock, std::size_t size, const WhileBlocked& while_blocked) {
  while (!closed_ && held_ != 0 && size > most_ - held_) {
    if (!while_blocked) {
      sent_.wait(lock);
      continue;
    }
    sent_.wait_for(lock, kBlockedCheckPeriod);
    mutex_.unlock();
    while_blocked();
    mutex_.lock();
  }
  return !closed_;
}

// Memory and the thread. False: there is no memory, or no thread; then nothing is held.
bool Outbox::prepare() {
  if (thread_ == Thread::impossible) return false;
  if (memory_ == nullptr) memory_.reset(new (std::nothrow) std::byte[most_]);
  if (memory_ == nullptr) return false;
  if (thread_ == Thread::none) thread_ = start_() ? Thread::running : Thread::impossible;
  if (thread_ == Thread::impossible) memory_.reset();
  return thread_ == Thread::running;
}

void Outbox::hold(std::span<const iovec> parts) {
  for (const iovec& part : parts) {
    const auto* const from = static_cast<const std::byte*>(part.iov_base);
    const std::size_t end = (begin_ + held_) % most_;
    const std::size_t first = std::min(part.iov_len, most_ - end);
    if (part.iov_len == 0) continue;
    std::memcpy(memory_.get() + end, from, first);
    std::memcpy(memory_.get(), from + first, part.iov_len - first);
    held_ += part.iov_len;
  }
}

void Outbox::discard(std::size_t size) {
  begin_ = (begin_ + size) % most_;
  held_ -= size;
  if (held_ != 0) return;
  begin_ = 0;
  memory_.reset();
}

void Outbox::close() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
  added_.notify_all();
  sent_.notify_all();
}

void Outbox::send_until_closed() {
  base::MutexLock lock(mutex_);
  while (!closed_) {
    if (held_ == 0) {
      added_.wait(lock);
    } else if (!send_held()) {
      closed_ = true;
      stream_.shutdown();  // the reader ends the connection
    }
  }
  discard(held_);
  sent_.notify_all();
}

// Sends some of what is held as soon as the socket accepts it. False: the connection is closed, or has accepted nothing for too long.
bool Outbox::send_held() {
  const std::size_t first = std::min(held_, most_ - begin_);
  std::array<iovec, 2> both{{{memory_.get() + begin_, first}, {memory_.get(), held_ - first}}};
  const std::size_t before = held_;
  mutex_.unlock();
  std::span<iovec> parts(both);
  const bool open = stream_.write_some(parts);
  const std::size_t sent = before - size_of(parts);
  const bool going = open && (sent != 0 || wait_until_writable(stream_.descriptor(), stall_timeout_));
  mutex_.lock();
  if (sent != 0) {
    discard(sent);
    sent_.notify_all();
  }
  return going;
}

}  // namespace cleave::remote::client
