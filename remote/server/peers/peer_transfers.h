// A client's transfers of contents from and to other servers, in its worker, which has no network: the front makes the
// connections (peer_desk.h), and threads of the worker's pass the contents on.
//
// Thread-safe. The threads are joined by the destructor, which ends their connections; a worker process ends without that.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/threads/mutex.h"
#include "remote/server/memory/staging.h"
#include "remote/server/peers/contents_transfer.h"
#include "remote/server/processes/packets.h"
#include "remote/server/sending/outbox.h"

namespace cleave::remote::server {

class PeerTransfers {
 public:
  // Sends a message to the front. False: it can't be reached.
  using ToFront = std::function<bool(const PeerMessage&)>;

  // All must outlive this. `silence`: how long a source may send nothing.
  PeerTransfers(Outbox& outbox, Staging& staging, ToFront to_front, Duration silence)
      : outbox_(outbox), staging_(staging), to_front_(std::move(to_front)), silence_(silence) {}
  PeerTransfers(const PeerTransfers&) = delete;
  PeerTransfers& operator=(const PeerTransfers&) = delete;
  ~PeerTransfers();

  // Both answer the client's request later, on another thread, or return false at once: there are too many, or no front.
  bool offer(std::uint32_t request, ContentsRange range) CLEAVE_EXCLUDES(mutex_);
  bool fetch(std::uint32_t request, ContentsRange range, std::string ticket,
             std::vector<std::string> addresses) CLEAVE_EXCLUDES(mutex_);

  // The client has released the buffer: nobody will fetch what was offered of it.
  void forget(cl_mem buffer) CLEAVE_EXCLUDES(mutex_);

  // A message of the front's, and the descriptor that has come with it, which may be none.
  void handle(const PeerMessage& message, base::FileDescriptor descriptor) CLEAVE_EXCLUDES(mutex_);

  // Forgets what is too old, and joins threads that have ended. To be called now and then.
  void tidy(Time now) CLEAVE_EXCLUDES(mutex_);

  // Whether a transfer is under way, or about to be.
  [[nodiscard]] bool is_busy() CLEAVE_EXCLUDES(mutex_);

 private:
  // Threads, each with some parts in memory.
  static constexpr std::size_t kMaxRunning = 8;
  // The front answers sooner, unless it has been started again.
  static constexpr std::chrono::seconds kFrontTime{15};

  struct Waiting {
    ContentsRange range;
    std::uint32_t request = 0;  // to be answered; 0: it has been
    bool is_offer = false;
    Time until{};
  };
  struct Running {
    std::unique_ptr<Stream> stream;
    bool has_ended = false;
    std::thread thread;
  };

  bool ask(Waiting waiting, PeerMessage message) CLEAVE_EXCLUDES(mutex_);
  std::optional<Waiting> take(std::uint32_t number) CLEAVE_EXCLUDES(mutex_);
  void note_offered(const PeerMessage& message) CLEAVE_EXCLUDES(mutex_);
  void run(Waiting waiting, base::FileDescriptor descriptor) CLEAVE_EXCLUDES(mutex_);
  void transfer(const Waiting& waiting, Stream& stream);
  void answer(std::uint32_t request, bool good, const std::string& bytes = {});

  Outbox& outbox_;
  Staging& staging_;
  const ToFront to_front_;
  const Duration silence_;
  base::Mutex mutex_;
  std::uint32_t latest_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::map<std::uint32_t, Waiting> waiting_ CLEAVE_GUARDED_BY(mutex_);
  std::list<Running> running_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::server
