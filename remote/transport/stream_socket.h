// The socket of a stream, which the stream owns. In another's process every use is preceded by a look whether it still is the
// stream's: the program may have closed it and got the same number for a socket of its own.
//
// Thread-safe, except for close() and the destructor.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <unistd.h>

#include <sys/socket.h>

#include "base/files/verified_descriptor.h"
#include "remote/transport/stream.h"

namespace cleave::remote {

class StreamSocket {
 public:
  StreamSocket(int socket, Process process) : socket_(socket) {
    if (process == Process::ours) return;
    verified_.emplace().adopt(socket);
  }
  StreamSocket(const StreamSocket&) = delete;
  StreamSocket& operator=(const StreamSocket&) = delete;
  ~StreamSocket() { close(); }

  [[nodiscard]] int get() const { return socket_; }

  // Once false it stays so. Costs as much as reading a socket that is empty.
  [[nodiscard]] bool is_ours() {
    if (!verified_) return true;
    if (taken_.load(std::memory_order_relaxed)) return false;
    if (verified_->is_valid()) return true;
    taken_.store(true, std::memory_order_relaxed);
    return false;
  }

  // The same, at most kLately old, for frequent calls.
  [[nodiscard]] bool was_ours_lately() {
    if (!verified_) return true;
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    if (now - seen_.load(std::memory_order_relaxed) < kLately.count())
      return !taken_.load(std::memory_order_relaxed);
    seen_.store(now, std::memory_order_relaxed);
    return is_ours();
  }

  void shutdown() {
    if (is_ours()) ::shutdown(socket_, SHUT_RDWR);
  }

  void close() {
    if (verified_) return verified_->close();
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  static constexpr std::chrono::nanoseconds kLately{100'000};

  int socket_;
  std::optional<base::VerifiedDescriptor> verified_;  // in another's process
  std::atomic<bool> taken_{false};
  std::atomic<std::int64_t> seen_{0};  // when, ns
};

}  // namespace cleave::remote
