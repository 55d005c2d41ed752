// What is to be sent but does not fit into the socket: it is copied here, and a thread of the outbox's sends it, so that the program
// goes on with its next commands. A unix socket holds 208 KiB, some thousand launches; a server that executes each of them in 8 us
// would otherwise hold up a program that enqueues one in 2 us.
//
// Everything goes out in the order of the calls of write(). While nothing is held, write() sends to the socket itself. What does
// not fit into the bound is waited for, as without an outbox, and so is a stream that cannot write a part (Stream::can_write_some).
//
// The thread is started when something is held for the first time, and ends with close(). It blocks all signals. A forked child does
// not have it, and must not use the outbox. Its memory is taken when something is held, and released when all has been sent.
//
// Threads: callers serialise write() and drain(), and cannot be cancelled there; the others may be called by any thread. The mutex is a
// leaf, held for moments. Nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <sys/uio.h>

#include "base/threads/mutex.h"
#include "remote/transport/stream.h"

namespace cleave::remote::client {

class Outbox {
 public:
  static constexpr std::size_t kMost = std::size_t{4} << 20U;  // bytes held

  // start() makes a thread that calls send_until_closed() and keeps this object and its stream until that has returned; false: it
  // could not, and nothing is ever held. `stall_timeout`: as for Stream::write().
  using Start = std::function<bool()>;
  Outbox(Stream& stream, Duration stall_timeout, Start start, std::size_t most = kMost);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Sends all parts behind what is held, or holds them as well; changes `parts`. Their memory is the caller's again. Waits while they
  // do not fit, and calls `while_blocked` meanwhile. False: the connection is closed, or has accepted no data for the timeout.
  bool write(std::span<iovec> parts, const WhileBlocked& while_blocked) CLEAVE_EXCLUDES(mutex_);

  // Waits until nothing is held: then the caller may write to the stream itself. False: as above.
  bool drain(const WhileBlocked& while_blocked) CLEAVE_EXCLUDES(mutex_);

  // The connection has ended, its stream is shut down: discards what is held, and ends all waiting.
  void close() CLEAVE_EXCLUDES(mutex_);

  void send_until_closed() CLEAVE_EXCLUDES(mutex_);

  // Bytes that are held at the moment.
  [[nodiscard]] std::size_t held() CLEAVE_EXCLUDES(mutex_);

 private:
  enum class Thread : std::uint8_t { none, running, impossible };

  bool wait_for_room(base::MutexLock& lock, std::size_t size, const WhileBlocked& while_blocked)
      CLEAVE_REQUIRES(mutex_);
  bool prepare() CLEAVE_REQUIRES(mutex_);
  void hold(std::span<const iovec> parts) CLEAVE_REQUIRES(mutex_);
  void discard(std::size_t size) CLEAVE_REQUIRES(mutex_);
  bool send_held() CLEAVE_REQUIRES(mutex_);

  Stream& stream_;
  const Duration stall_timeout_;
  const Start start_;
  const std::size_t most_;

  base::Mutex mutex_;
  base::CondVar added_;  // for the thread
  base::CondVar sent_;   // for callers
  // A ring of most_ bytes. The thread reads its contents without the mutex; no other thread changes them meanwhile.
  std::unique_ptr<std::byte[]> memory_ CLEAVE_GUARDED_BY(mutex_);
  std::size_t begin_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::size_t held_ CLEAVE_GUARDED_BY(mutex_) = 0;
  Thread thread_ CLEAVE_GUARDED_BY(mutex_) = Thread::none;
  bool closed_ CLEAVE_GUARDED_BY(mutex_) = false;
};

}  // namespace cleave::remote::client
