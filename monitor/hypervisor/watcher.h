// Follows one hypervisor: connects, counts by events and listings, and reconnects after growing pauses when the connection is
// lost.
//
// Everything that may block happens in two threads of the watcher: one counts, the other samples the pressure
// (pressure_sampler.h) and may hang without delaying the count. Whether one has been stuck for too long is decided by the
// receiver of the reports: each has the time of the last listing, and when the next sample of the pressure is due
// (totals.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/threads/mutex.h"
#include "monitor/hypervisor/hypervisor.h"
#include "monitor/hypervisor/pressure_sampler.h"

namespace cleave::monitor {

struct WatcherOptions {
  std::chrono::milliseconds interval{3000};    // between listings, and between samples of processor time
  std::chrono::milliseconds settle{100};       // from an event to the listing that confirms it
  std::chrono::milliseconds first_pause{250};  // before the second attempt to connect; doubles with each
  std::chrono::milliseconds longest_pause{8000};
  double busy_share = 0.2;  // of one processor
  PressureOptions pressure = {};
};

// A watcher's knowledge at one moment.
struct Report {
  bool connected = false;
  std::optional<Counts> counts;    // empty: not known
  std::optional<double> pressure;  // from 0 to 1 (monitor/hypervisor/pressure.h); empty: not known
  TimePoint listed;                // when the last listing was complete; has no meaning without counts
  TimePoint pressure_due = TimePoint::max();  // the next sample of the pressure comes no later

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
  // Waits for the calls that the threads are in, however long that takes.
  ~Watcher();

  // Whether any client follows the pressure closely (pressure_sampler.h).
  void follow_pressure_closely(bool closely) { sampler_.follow_closely(closely); }

  // No report comes after the return. The threads end when the hypervisor's current calls return.
  void stop();

  // Whether the thread that counts ended before the deadline.
  bool wait_until_ended(TimePoint deadline);

  // The same of the one that samples the pressure.
  bool wait_for_sampler(TimePoint deadline) { return sampler_.wait_until_ended(deadline); }

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
  void wait_for_next_listing();
  void pause(std::chrono::milliseconds duration);
  void disconnect(const std::string& why);
  static std::optional<unsigned> running(State& state);
  static void take_pressure(State& state, std::optional<double> pressure, TimePoint due);
  bool stopping();
  static void publish(State& state) CLEAVE_REQUIRES(state.mutex);

  Hypervisor& hypervisor_;
  const std::string uri_;
  const WatcherOptions options_;
  std::chrono::milliseconds pause_;  // before the next attempt to connect
  std::string last_logged_error_;    // so that attempts that fail in the same way are logged once
  TimePoint sampled_;
  std::shared_ptr<State> state_;
  PressureSampler sampler_;
  std::thread thread_;
};

}  // namespace cleave::monitor
