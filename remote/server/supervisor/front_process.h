// The front as the supervisor sees it: a process that is started again when it has ended.
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <chrono>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "base/files/file_descriptor.h"
#include "daemon/options.h"
#include "remote/server/front/credentials.h"
#include "remote/server/processes/front_counters.h"
#include "remote/server/processes/packets.h"

namespace cleave::remote::server {

// A socket that the front listens on. The descriptor is the supervisor's, which keeps it for the next front.
struct FrontListener {
  int socket = -1;
  ListenerKind kind;
};

struct Newcomer {
  Introduction introduction;
  std::vector<base::FileDescriptor> descriptors;  // the first one is its connection
  unsigned front = 0;                             // which front has introduced it
};

// To a worker, with what comes with it.
struct MessageForWorker {
  PeerMessage message;
  std::vector<base::FileDescriptor> descriptors;
};

class FrontProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // All must outlive this.
  FrontProcess(const std::vector<daemon::GivenValue>& options, const SharedCounters& counters)
      : options_(options), counters_(counters) {}
  FrontProcess(const FrontProcess&) = delete;
  FrontProcess& operator=(const FrontProcess&) = delete;
  ~FrontProcess();

  void listen_on(const FrontListener& listener) { listeners_.push_back(listener); }
  // Who may connect from now on. To be called before the front is started, and then at any time.
  void set_credentials(CredentialFiles files);

  // Starts it unless it runs, or has just ended: then the pauses become longer. Problems are logged.
  void keep_running();
  // When keep_running() should be called again, if it does not run.
  [[nodiscard]] Clock::time_point next_start() const { return next_start_; }

  // Where it says something; -1: it does not run.
  [[nodiscard]] int control() const { return control_.get(); }
  // What it says; nothing, or that it has ended: neither.
  using Said = std::variant<std::monostate, Newcomer, MessageForWorker>;
  Said read();
  // To the front that has introduced the newcomer; nothing if another one runs since.
  void answer(const Newcomer& newcomer, ipc::Answer answer, std::string why = {});

  // A worker's message. False: it is lost, since there is no front, or one that does not read. The worker notices.
  [[nodiscard]] bool forward(const PeerMessage& message);
  // Which front it is that runs.
  [[nodiscard]] unsigned number() const { return latest_; }

  // It ends, and with it the connections of clients that use TLS.
  void stop();

 private:
  bool start();
  bool send_credentials();
  void end();

  const std::vector<daemon::GivenValue>& options_;
  const SharedCounters& counters_;
  std::vector<FrontListener> listeners_;
  CredentialFiles credentials_;
  base::FileDescriptor control_;
  pid_t process_ = -1;
  unsigned latest_ = 0;  // of the fronts
  Clock::time_point started_{};
  Clock::time_point next_start_{};
  std::chrono::milliseconds delay_{0};
};

}  // namespace cleave::remote::server
