// What the watcher needs of libvirt, as an interface: the real one is in libvirt.h, and tests have one that
// fails, hangs and forgets events when told to.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "monitor/domains.h"

namespace cleave::monitor {

// A call that failed; what() is the hypervisor's own message, one line.
class HypervisorError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a session tells unasked. Called by a thread of the hypervisor's, which delivers for all sessions and
// therefore must never be made to wait.
class HypervisorEvents {
 public:
  HypervisorEvents() = default;
  HypervisorEvents(const HypervisorEvents&) = delete;
  HypervisorEvents& operator=(const HypervisorEvents&) = delete;
  virtual ~HypervisorEvents() = default;

  // The domain began or ceased to run.
  virtual void changed(const Uuid& domain, bool running) = 0;

  // The session is dead and will not come back.
  virtual void lost(const std::string& why) = 0;
};

// One connection. Its functions block for as long as the hypervisor likes, and throw HypervisorError. Used by
// one thread; destroying it closes the connection.
class HypervisorConnection {
 public:
  HypervisorConnection() = default;
  HypervisorConnection(const HypervisorConnection&) = delete;
  HypervisorConnection& operator=(const HypervisorConnection&) = delete;
  virtual ~HypervisorConnection() = default;

  // The domains that run: not those that are paused, shut off, crashed, or shutting down.
  virtual std::vector<Uuid> running() = 0;

  // The processor times of domains that run; leaves out those of which the hypervisor does not say.
  virtual std::vector<CpuTime> cpu_times() = 0;
};

// Thread-safe.
class Hypervisor {
 public:
  Hypervisor() = default;
  Hypervisor(const Hypervisor&) = delete;
  Hypervisor& operator=(const Hypervisor&) = delete;
  virtual ~Hypervisor() = default;

  // Blocks; throws HypervisorError. `events` hears of everything from before the return on, and is let go of
  // some time after the session is gone, since a call to it may still be under way then.
  virtual std::unique_ptr<HypervisorConnection> connect(const std::string& uri,
                                                        std::shared_ptr<HypervisorEvents> events) = 0;
};

}  // namespace cleave::monitor
