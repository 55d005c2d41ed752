// Follows one hypervisor: connects, counts by events and listings, and reconnects after growing pauses when the connection is
// lost.
//
// All that may block happens in a thread of the watcher's own. Whether that thread has been stuck for too long is decided by
// the receiver of the reports: each has the time of the last listing (totals.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "monitor/hypervisor.h"
#include "monitor/pressure.h"

namespace cleave::monitor {

struct WatcherOptions {
  std::chrono::milliseconds interval{3000};    // between listings, and between samples of processor time
  std::chrono::milliseconds settle{100};       // from an event to the listing that confirms it
  std::chrono::milliseconds first_pause{250};  // before the second attempt to connect; doubles with each
  std::chrono::milliseconds longest_pause{8000};
  double busy_share = 0.2;                           // of one processor
  std::chrono::milliseconds pressure_interval{500};  // between samples for the pressure
  // How long this host's processes have waited (monitor/pressure.h). Null: it says nothing about the domains.
  std::function<std::optional<std::chrono::nanoseconds>()> host_stall = nullptr;
};

// What a watcher knows at one moment.
struct Report {
  bool connected = false;
  std::optional<Counts> counts;    // empty: not known
  std::optional<double> pressure;  // from 0 to 1 (monitor/pressure.h); empty: not known
  TimePoint listed;                // when the last listing was complete; has no meaning without counts

  // Since the watcher's beginning.
  std::uint64_t events = 0;
  std::uint64_t listings = 0;
  std::uint64_t corrections = 0;  // listings that differed from the state according to the events
  std::uint64_t losses = 0;       // connections that were lost
};

class Watcher {
 public:
  // Gets every report in order, from several threads but one at a time. Must neither block nor throw.
  using Sink = std::function<void(const Report&)>;

  // Starts at once. `hypervisor` must outlive the watcher.
  Watcher(Hypervisor& hypervisor, std::string uri, WatcherOptions options, Sink sink);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  // Waits for the call that the thread is in, however long that takes.
  ~Watcher();

  // No report comes after the return. The thread ends when the hypervisor's current call returns.
  void stop();

  // Whether the thread ended before the deadline.
  bool wait_until_ended(TimePoint deadline);

 private:
  class EventReceiver;

  // Shared with the hypervisor's callbacks, which may be running when a connection, or the watcher itself, ends.
  struct State {
    State(double busy_share, Sink to) : domains(busy_share), sink(std::move(to)) {}

    base::Mutex mutex;
    base::CondVar changed;
    bool stopping CLEAVE_GUARDED_BY(mutex) = false;
    bool ended CLEAVE_GUARDED_BY(mutex) = false;
    bool lost CLEAVE_GUARDED_BY(mutex) = false;         // the connection of this generation is dead
    std::string why CLEAVE_GUARDED_BY(mutex);           // it is dead
    bool unconfirmed CLEAVE_GUARDED_BY(mutex) = false;  // an event has come since the last listing began
    std::uint64_t generation CLEAVE_GUARDED_BY(mutex) =
        0;  // of the connection; callbacks of earlier ones are ignored
    Domains domains CLEAVE_GUARDED_BY(mutex);
    Report report CLEAVE_GUARDED_BY(mutex);
    const Sink sink;
  };

  void run();
  void serve_connection();
  void follow(HypervisorConnection& session);
  void list(HypervisorConnection& session);
  void sample(HypervisorConnection& session);
  void sample_pressure(HypervisorConnection& session);
  void wait_for_next_sample(TimePoint next_listing);
  void pause(std::chrono::milliseconds duration);
  void disconnect(const std::string& why);
  bool stopping();
  static void publish(State& state) CLEAVE_REQUIRES(state.mutex);

  Hypervisor& hypervisor_;
  const std::string uri_;
  const WatcherOptions options_;
  std::chrono::milliseconds pause_;  // before the next attempt to connect
  std::string last_logged_error_;    // so that attempts that fail alike are logged once
  TimePoint sampled_;
  TimePoint pressure_sampled_;
  PressureMeter pressure_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace cleave::monitor
