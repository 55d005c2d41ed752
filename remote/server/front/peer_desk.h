// What the front does for contents that go from one server to another: workers, which have no network, offer contents here and
// ask for connections to other servers; other servers come here with tickets.
//
// Thread-safe. Its threads end with their connections, or with the process: it is never destroyed before.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/files/file_descriptor.h"
#include "base/threads/mutex.h"
#include "remote/server/front/refusal_log.h"
#include "remote/server/options/options.h"
#include "remote/server/peers/peer_handshake.h"
#include "remote/server/peers/ticket_store.h"
#include "remote/server/processes/front_counters.h"
#include "remote/server/processes/packets.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

class PeerDesk {
 public:
  // `control` leads to the supervisor.
  PeerDesk(const Options& options, int control) : options_(options), control_(control) {}
  PeerDesk(const PeerDesk&) = delete;
  PeerDesk& operator=(const PeerDesk&) = delete;
  ~PeerDesk() = default;

  // Where transfers are counted, which must outlive this. Before the first of admit().
  void count_in(FrontCounters& counters) { counters_ = &counters; }

  // A worker's message, as the supervisor has passed it on. Does not wait.
  void handle(const PeerMessage& request) CLEAVE_EXCLUDES(mutex_);

  // A server that wants contents: lets it prove that it may have them, which uses up its ticket. Empty: it has not; `why` says
  // what it did.
  std::optional<OfferedContents> admit(Stream& stream, FrameReader& input, const PeerOpening& opening,
                                       Time until, std::string& why) CLEAVE_EXCLUDES(mutex_);
  // Before and after bytes are passed on to the worker, where the connection is TLS. False: there are too many already.
  bool begin_relay(std::uint64_t worker) CLEAVE_EXCLUDES(mutex_);
  void end_relay(std::uint64_t worker) CLEAVE_EXCLUDES(mutex_);
  // Gives its connection to the worker. False: the supervisor is gone.
  bool deliver(const OfferedContents& contents, int descriptor) const;

 private:
  // Of one worker, and of all.
  static constexpr unsigned kMaxFetches = 4;
  static constexpr unsigned kMaxFetchesOfAll = 64;
  // A worker serves no more at a time.
  static constexpr unsigned kMaxRelays = 8;
  static constexpr unsigned kMaxRelaysOfAll = 128;

  bool send(const PeerMessage& message, int descriptor = -1) const;
  bool fail(const PeerMessage& request, std::string why) const;
  void offer(const PeerMessage& request) CLEAVE_EXCLUDES(mutex_);
  void begin_fetch(const PeerMessage& request) CLEAVE_EXCLUDES(mutex_);
  void fetch(const PeerMessage& request);
  std::unique_ptr<Stream> connect(const PeerMessage& request, bool& is_tls, std::string& why) const;
  bool count_fetch(std::uint64_t worker) CLEAVE_EXCLUDES(mutex_);
  void log_failure(std::string line) CLEAVE_EXCLUDES(mutex_);
  void end_fetch(std::uint64_t worker) CLEAVE_EXCLUDES(mutex_);

  const Options& options_;
  const int control_;
  FrontCounters* counters_ = nullptr;
  base::Mutex mutex_;
  TicketStore tickets_ CLEAVE_GUARDED_BY(mutex_);
  std::map<std::uint64_t, unsigned> fetches_ CLEAVE_GUARDED_BY(mutex_);  // by worker
  RefusalLog failures_ CLEAVE_GUARDED_BY(mutex_);
  std::map<std::uint64_t, unsigned> relays_ CLEAVE_GUARDED_BY(mutex_);  // by worker
  unsigned all_relays_ CLEAVE_GUARDED_BY(mutex_) = 0;
  unsigned all_fetches_ CLEAVE_GUARDED_BY(mutex_) = 0;
};

}  // namespace cleave::remote::server
