// The hypervisors that libvirt knows, read-only.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "monitor/hypervisor.h"

namespace cleave::monitor {

// libvirt's event loop in a thread of its own. Keepalive only notices a dead libvirtd while the loop turns,
// so nothing else happens in that thread. One at a time in a process, there before the first connection is
// opened; throws HypervisorError.
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
