// Follows one hypervisor: connects, counts by events and listings, and connects again when the connection is
// lost, after pauses that grow.
//
// All that may block happens in a thread of the watcher's own. Whether that thread has been stuck for too
// long is for whoever gets the reports to say: each has the time of the last listing in it (tally.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "monitor/hypervisor.h"

namespace cleave::monitor {

struct WatcherOptions {
  std::chrono::milliseconds interval{3000};    // between listings, and between samples of processor time
  std::chrono::milliseconds settle{100};       // from an event to the listing that confirms it
  std::chrono::milliseconds first_pause{250};  // before the second attempt to connect; doubles with each
  std::chrono::milliseconds longest_pause{8000};
  double busy_share = 0.2;  // of one processor
};

// What a watcher knows at one moment.
struct Report {
  bool connected = false;
  std::optional<Counts> counts;  // empty: not known
  TimePoint listed;              // when the last listing was complete; has no meaning without counts

  // Since the watcher's beginning.
  std::uint64_t events = 0;
  std::uint64_t listings = 0;
  std::uint64_t corrections = 0;  // listings that differed from what the events had led to
  std::uint64_t losses = 0;       // connections that ended unasked
};

class Watcher {
 public:
  // Gets every report in order, from several threads but never two at a time. Must neither block nor throw.
  using Sink = std::function<void(const Report&)>;

  // Begins at once. `hypervisor` must outlive the watcher.
  Watcher(Hypervisor& hypervisor, std::string uri, WatcherOptions options, Sink sink);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  // Waits for the call that the thread is in, however long that takes.
  ~Watcher();

  // No report comes after the return. The thread ends as soon as the hypervisor lets it.
  void stop();

  // Whether the thread had ended before the time was up.
  bool wait_until_ended(TimePoint deadline);

 private:
  class EventReceiver;

  // Shared with the hypervisor's callbacks, which may be under way when a session, or the watcher itself,
  // ends.
  struct State {
    State(double busy_share, Sink to) : domains(busy_share), sink(std::move(to)) {}

    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
    bool ended = false;
    bool lost = false;             // the session of this generation is dead
    std::string why;               // it is dead
    bool unconfirmed = false;      // an event has come since the last listing began
    std::uint64_t generation = 0;  // of the session; callbacks of earlier ones are ignored
    Domains domains;
    Report report;
    Sink sink;
  };
  using Lock = std::unique_lock<std::mutex>;

  void run();
  void serve_connection();
  void follow(HypervisorConnection& session);
  void list(HypervisorConnection& session);
  void sample(HypervisorConnection& session);
  void pause(std::chrono::milliseconds duration);
  void disconnect(const std::string& why);
  bool stopping();
  static void publish(State& state, const Lock& held);

  Hypervisor& hypervisor_;
  const std::string uri_;
  const WatcherOptions options_;
  std::chrono::milliseconds pause_;  // before the next attempt to connect
  std::string last_logged_error_;    // so that attempts that fail alike are logged once
  TimePoint sampled_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace cleave::monitor
