// Samples the pressure of one hypervisor, in a thread and over a connection of its own: libvirt reads the statistics
// of virtual processors through each domain's QEMU, so the call waits for one that hangs, possibly forever.
// Nothing else may wait with it.
//
// Whether the thread has been stuck for too long is decided by the receiver: each sample comes with the time at which
// the next is due.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/threads/mutex.h"
#include "monitor/hypervisor/hypervisor.h"
#include "monitor/hypervisor/pressure.h"

namespace cleave::monitor {

struct PressureOptions {
  std::chrono::milliseconds interval{500};  // between samples
  // The time for which this host's processes have waited (monitor/hypervisor/pressure.h). Null: it does not describe the domains.
  std::function<std::optional<std::chrono::nanoseconds>()> host_stall = nullptr;
};

class PressureSampler {
 public:
  // The factor of the interval while no client follows the pressure closely, once there is a sample to
  // compare the next one with; and after a call that failed.
  static constexpr int kIdleFactor = 10;
  static constexpr unsigned kFirstSamples = 2;
  // The longest time between checks whether the hypervisor is connected, for its first sample.
  static constexpr std::chrono::milliseconds kConnectingInterval{250};
  // How late a sample may be. As for listings: longer than a busy host needs.
  static constexpr std::chrono::milliseconds kGrace{3000};

  // How many domains run; empty while the hypervisor is not connected, when nothing is sampled.
  using Running = std::function<std::optional<unsigned>()>;
  // Gets each sample's pressure, empty if it is not known, and when the next sample comes at the latest.
  using Sink = std::function<void(std::optional<double> pressure, TimePoint due)>;

  // Starts at once. `hypervisor` must outlive the sampler. The functions are called from the sampler's thread; they
  // must neither block nor throw.
  PressureSampler(Hypervisor& hypervisor, std::string uri, PressureOptions options, Running running,
                  Sink sink);
  PressureSampler(const PressureSampler&) = delete;
  PressureSampler& operator=(const PressureSampler&) = delete;
  // Waits for the call that the thread is in, however long that takes.
  ~PressureSampler();

  // Whether any client follows the pressure closely; at first none does. Thread-safe.
  void follow_closely(bool closely);

  // The thread ends when the hypervisor's current call returns. Thread-safe.
  void stop();

  // Whether the thread ended before the deadline.
  bool wait_until_ended(TimePoint deadline);

 private:
  void run();
  void sample_once();
  void sample(HypervisorConnection& session, unsigned running);
  void forget();
  bool wait();
  [[nodiscard]] std::chrono::milliseconds interval() const CLEAVE_REQUIRES(mutex_);

  Hypervisor& hypervisor_;
  const std::string uri_;
  const PressureOptions options_;
  const Running running_;
  const Sink sink_;
  std::unique_ptr<HypervisorConnection> session_;  // used by the thread
  PressureMeter meter_;                            // the same
  TimePoint sampled_;                              // the same
  unsigned samples_ = 0;                           // the same; in a row, up to kFirstSamples
  bool failed_ = false;                            // the same; the last sample
  base::Mutex mutex_;
  base::CondVar changed_;
  bool closely_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool resample_ CLEAVE_GUARDED_BY(mutex_) = false;  // at once
  bool stopping_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool ended_ CLEAVE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cleave::monitor
