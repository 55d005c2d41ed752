// What goes to the client: frames of any thread, one after the other, and before each what kernels have
// printed until then.
//
// Thread-safe. A client that takes nothing for its patience is gone, and then so is this process: there is
// nothing left to do in it (worker.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "remote/server/session/events_frame.h"
#include "remote/server/worker/kernel_output.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

class Outbox {
 public:
  // `on_lost` is called when the client can no longer be reached. It may be called more than once, and by any
  // thread.
  Outbox(Stream& stream, KernelOutput& printed, Duration send_timeout, std::function<void()> on_lost);

  // Sends and clears it. With nothing in it, it is a sign of life and of what has ended.
  void send(EventsFrame& frame);

  // What kernels have printed, if anything, goes out.
  void send_kernel_output();

  // The last words: why the server ends the connection.
  void send_goodbye(const std::string& why);

  // The totals that go with every frame.
  void count_ended(std::uint64_t commands, std::uint64_t bytes) {
    commands_ended_.fetch_add(commands, std::memory_order_relaxed);
    bytes_ended_.fetch_add(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t commands_ended() const {
    return commands_ended_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t bytes_ended() const { return bytes_ended_.load(std::memory_order_relaxed); }

  // How much of that the client has not been told.
  [[nodiscard]] bool has_unreported(std::uint64_t commands, std::uint64_t bytes) const {
    return commands_ended() - reported_commands_.load(std::memory_order_relaxed) >= commands ||
           bytes_ended() - reported_bytes_.load(std::memory_order_relaxed) >= bytes;
  }

  [[nodiscard]] Time last_sent() const { return Time(Duration(last_sent_.load(std::memory_order_relaxed))); }

 private:
  void write(EventsFrame& frame);
  void write_kernel_output();

  Stream& stream_;
  KernelOutput& kernel_output_;
  const Duration send_timeout_;
  const std::function<void()> on_lost_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> commands_ended_{0};
  std::atomic<std::uint64_t> bytes_ended_{0};
  std::atomic<std::uint64_t> reported_commands_{0};
  std::atomic<std::uint64_t> reported_bytes_{0};
  std::atomic<Duration::rep> last_sent_;
};

}  // namespace cleave::remote::server
