// The brokers of workers in sandboxes (interpose/broker/broker.h): processes of this program outside, which take turns and book memory
// for one worker each. They end when their worker does.
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files/file_descriptor.h"
#include "daemon/options.h"
#include "remote/server/processes/packets.h"
#include "remote/server/sandbox/sandbox.h"
#include "remote/server/supervisor/places.h"

namespace cleave::remote::server {

// One of them. Without a process there is none.
struct WorkerBroker {
  pid_t process = -1;
  base::FileDescriptor control;
  base::FileDescriptor channel;  // the worker's end, until it has been sent
  base::FileDescriptor life;     // where it writes now and then, once it has been assigned
  unsigned silent_looks = 0;     // since it has
  bool is_noticed = false;       // that it has ended
};

class WorkerBrokers {
 public:
  // Starts one. Empty control: that is not possible, and errno says why.
  static WorkerBroker start(const std::vector<daemon::GivenValue>& options, const Launch& launch);
  // Sends the worker its end of the channel, or word that it has no broker. False: the worker has ended.
  static bool connect(WorkerBroker& broker, int worker_control);
  // From now on it serves, with what the client has been granted.
  static bool assign(const WorkerBroker& broker, const Assignment& assignment);

  // Whether it has ended; each end is said once. `closed`: since the worker has closed its channel, as one that ends does.
  enum class End : std::uint8_t { none, closed, failed };
  static End new_end(WorkerBroker& broker);

  // An assigned broker is ended if it has sent no heartbeat in so many checks, each at least half a second after the
  // one before: it is stopped, or hangs, and its worker may wait for it. Returns whether it is.
  static constexpr unsigned kMostSilentLooks = 5;
  static bool end_if_silent(WorkerBroker& broker);

  // Its worker has ended. It gets a moment to leave, for which nothing waits.
  void end(WorkerBroker broker);
  void reap();

 private:
  struct Ending {
    pid_t process = -1;
    Time until{};
  };
  std::vector<Ending> ending_;
};

// Whether what the client has been granted, or all clients, includes limits that are not to be lost.
bool has_limits(const Grant& grant);

// A broker's process.
int run_broker();

}  // namespace cleave::remote::server
