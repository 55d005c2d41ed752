// The frames that go to the client, from any thread, one after the other; before each frame what kernels have printed until
// then.
//
// Thread-safe. A client that accepts no data for the send timeout counts as disconnected, and then the worker process ends
// (worker/worker.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/threads/mutex.h"
#include "remote/server/sending/events_frame.h"
#include "remote/server/sending/kernel_output.h"
#include "remote/transport/payload_blocks.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

class Outbox {
 public:
  // `on_lost` is called when the client can no longer be reached. It may be called more than once, and on any
  // thread.
  Outbox(Stream& stream, KernelOutput& printed, Duration send_timeout, std::function<void()> on_lost);

  // From now on payloads go in blocks, compressed where that pays. Before anything else is called.
  void compress() { payload_writer_.emplace(stream_); }

  // Sends and clears the frame. An empty one is a heartbeat, with the totals of what has ended.
  void send(EventsFrame& frame);

  void send_kernel_output();

  // Tells the client why the server ends the connection.
  void send_goodbye(const std::string& why);

  // Totals of ended commands and their bytes, which go out with every frame (messages.fbs: Events).
  void count_ended(std::uint64_t commands, std::uint64_t bytes, std::uint64_t overhead = 0) {
    commands_ended_.fetch_add(commands, std::memory_order_relaxed);
    bytes_ended_.fetch_add(bytes, std::memory_order_relaxed);
    if (overhead != 0) overhead_ended_.fetch_add(overhead, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t commands_ended() const {
    return commands_ended_.load(std::memory_order_relaxed);
  }
  // Of host memory that commands kept until they ended (Pending::overhead); the client does not get it.
  [[nodiscard]] std::uint64_t overhead_ended() const {
    return overhead_ended_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t bytes_ended() const { return bytes_ended_.load(std::memory_order_relaxed); }

  // Whether that many commands or bytes have ended since the last frame.
  [[nodiscard]] bool has_unreported(std::uint64_t commands, std::uint64_t bytes) const {
    return commands_ended() - reported_commands_.load(std::memory_order_relaxed) >= commands ||
           bytes_ended() - reported_bytes_.load(std::memory_order_relaxed) >= bytes;
  }

  [[nodiscard]] Time last_sent() const { return Time(Duration(last_sent_.load(std::memory_order_relaxed))); }

 private:
  void write(EventsFrame& frame) CLEAVE_REQUIRES(mutex_);
  void write_kernel_output() CLEAVE_REQUIRES(mutex_);

  Stream& stream_;
  KernelOutput& kernel_output_;
  const Duration send_timeout_;
  const std::function<void()> on_lost_;
  base::Mutex mutex_;  // held while a frame is written
  std::optional<PayloadWriter> payload_writer_;
  std::atomic<std::uint64_t> commands_ended_{0};
  std::atomic<std::uint64_t> bytes_ended_{0};
  std::atomic<std::uint64_t> overhead_ended_{0};
  std::atomic<std::uint64_t> reported_commands_{0};
  std::atomic<std::uint64_t> reported_bytes_{0};
  std::atomic<Duration::rep> last_sent_;
};

}  // namespace cleave::remote::server
