// The part of libvirt that the watcher uses, as an interface. The implementation is libvirt.h; tests have one that fails, hangs
// and loses events on demand.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "monitor/hypervisor/domains.h"
#include "monitor/hypervisor/pressure.h"

namespace cleave::monitor {

// A call that failed; what() is the hypervisor's own message, one line.
class HypervisorError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The events of a connection. Called by a thread of the hypervisor library's that serves all connections, so implementations
// must not block.
class HypervisorEvents {
 public:
  HypervisorEvents() = default;
  HypervisorEvents(const HypervisorEvents&) = delete;
  HypervisorEvents& operator=(const HypervisorEvents&) = delete;
  virtual ~HypervisorEvents() = default;

  // The domain has started or stopped running.
  virtual void changed(const Uuid& domain, bool running) = 0;

  // The connection is lost for good.
  virtual void lost(const std::string& why) = 0;
};

// A connection. Its functions may block for any time, and throw HypervisorError. For one thread; the destructor closes the
// connection. Neither they nor the events include Xen's Domain-0, which is no guest.
class HypervisorConnection {
 public:
  HypervisorConnection() = default;
  HypervisorConnection(const HypervisorConnection&) = delete;
  HypervisorConnection& operator=(const HypervisorConnection&) = delete;
  virtual ~HypervisorConnection() = default;

  // The domains that run: not those that are paused, shut off, crashed, or shutting down.
  virtual std::vector<Uuid> running() = 0;

  // The processor times of running domains, without those whose time the hypervisor does not report. As running()
  // does, it waits for the hypervisor, but not for a single domain.
  virtual std::vector<CpuTime> cpu_times() = 0;

  // The times for which each virtual processor of the running domains has run and waited, without those whose times the
  // hypervisor does not report. It may wait for a domain that hangs.
  virtual std::vector<SchedulerTimes> scheduler_times() = 0;
};

// Thread-safe.
class Hypervisor {
 public:
  Hypervisor() = default;
  Hypervisor(const Hypervisor&) = delete;
  Hypervisor& operator=(const Hypervisor&) = delete;
  virtual ~Hypervisor() = default;

  // Blocks; throws HypervisorError. `events` is called from before the return on. It is released some time after the
  // connection, since a call to it may still be running then. It may be null: then a connection that is lost shows in
  // its calls only.
  virtual std::unique_ptr<HypervisorConnection> connect(const std::string& uri,
                                                        std::shared_ptr<HypervisorEvents> events) = 0;
};

}  // namespace cleave::monitor
