// Makes the handshakes of new connections, each in a thread of its own, and passes on those that are admitted. It holds
// the clients' secrets and the TLS key.
//
// Thread-safe. Its threads end with their connections or with the process, which does not wait for them. So the greeter
// is never destroyed before the process ends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/files/discard.h"
#include "base/files/file_descriptor.h"
#include "base/threads/mutex.h"
#include "remote/server/front/credentials.h"
#include "remote/server/front/peer_desk.h"
#include "remote/server/front/unknown_peer.h"
#include "remote/server/options/options.h"
#include "remote/transport/descriptor_passing.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

// A connection that has not been greeted. Descriptors that its peer has sent may wait in a unix socket (discard()).
struct Arrival {
  Arrival(base::FileDescriptor a_socket, ListenerKind a_kind, std::string a_peer, std::string a_peer_key)
      : socket(std::move(a_socket)), kind(a_kind), peer(std::move(a_peer)), peer_key(std::move(a_peer_key)) {}
  Arrival(Arrival&&) = default;
  Arrival& operator=(Arrival&&) = delete;
  ~Arrival() {
    if (kind.is_unix) discard(std::move(socket));
  }

  base::FileDescriptor socket;
  ListenerKind kind;
  std::string peer;
  std::string peer_key;
};

class Greeter {
 public:
  // `why`: the reason why the client was refused; empty: it has been introduced, and is admitted or waits for a place.
  // Called once, on any thread.
  using Ended = std::function<void(const std::string& why)>;

  // Reads the files for TLS that `options` name, which must outlive this. `control` leads to the supervisor. Throws OptionError.
  // `peers`, which must outlive this, for servers that fetch contents.
  Greeter(const Options& options, int control, PeerDesk& peers);
  Greeter(const Greeter&) = delete;
  Greeter& operator=(const Greeter&) = delete;
  ~Greeter() = default;

  // Who may connect from now on. To be called before the first start().
  void set_credentials(std::shared_ptr<const Credentials> credentials) CLEAVE_EXCLUDES(mutex_);

  // False: there is no thread or no memory for it; the connection is closed, and `ended` is not called.
  bool start(Arrival arrival, Ended ended) noexcept;
  // The supervisor's answer to an introduction.
  void judge(const ipc::Verdict& verdict) CLEAVE_EXCLUDES(mutex_);

 private:
  struct Streams {
    std::unique_ptr<Stream> outside;
    UnknownPeer* on_this_machine = nullptr;   // the outside, if it is a unix socket
    std::unique_ptr<Stream> inside;           // to the worker, if TLS ends here
    Duration stall_timeout{};                 // of the outside
    std::optional<std::uint64_t> supplier{};  // the worker whose contents another server fetches; counted
  };

  struct Verdict {
    ipc::Answer answer = ipc::Answer::refused;
    std::string why;
  };

  void greet(Arrival& arrival, const Ended& ended) noexcept;
  static void pass_on(const Arrival& arrival, const Streams& streams);
  std::string let_in(Arrival& arrival, Streams& streams, const std::function<void()>& waits);
  std::string let_in(const PeerOpening& opening, const Arrival& arrival, Streams& streams, FrameReader& input,
                     Time until);
  std::string open(Arrival& arrival, Streams& streams, Time until, std::string& certificate) const;
  std::string introduce(Introduction introduction, int descriptor, const std::function<void()>& waits)
      CLEAVE_EXCLUDES(mutex_);

  const Options& options_;
  const int control_;
  PeerDesk& peers_;
  std::unique_ptr<TlsServer> tls_;

  base::Mutex mutex_;
  base::CondVar judged_;
  std::uint32_t latest_ CLEAVE_GUARDED_BY(mutex_) = 0;  // introduction
  std::map<std::uint32_t, std::optional<Verdict>> verdicts_ CLEAVE_GUARDED_BY(mutex_);
  std::shared_ptr<const Credentials> credentials_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::server
