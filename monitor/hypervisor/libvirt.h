// Hypervisors through libvirt, read-only.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "monitor/hypervisor/hypervisor.h"

namespace cleave::monitor {

// Libvirt's event loop in a thread of its own. Keepalive notices a dead libvirtd only while the loop runs, so nothing else
// runs in that thread. At most one in a process, created before the first connection. Throws HypervisorError.
class LibvirtEventLoop {
 public:
  LibvirtEventLoop();
  LibvirtEventLoop(const LibvirtEventLoop&) = delete;
  LibvirtEventLoop& operator=(const LibvirtEventLoop&) = delete;
  ~LibvirtEventLoop();

 private:
  std::atomic<bool> stopping_{false};
  int wake_up_ = -1;  // the timeout that interrupts the loop
  std::thread thread_;
};

class Libvirt : public Hypervisor {
 public:
  std::unique_ptr<HypervisorConnection> connect(const std::string& uri,
                                                std::shared_ptr<HypervisorEvents> events) override;

 private:
  LibvirtEventLoop loop_;
};

}  // namespace cleave::monitor
