// The parts of the daemon together: watchers, one for each hypervisor, in threads of their own; everything else in the thread
// of the event loop, which no hypervisor can block.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads/mutex.h"
#include "daemon/http.h"
#include "daemon/listener.h"
#include "monitor/hub.h"
#include "monitor/hypervisor/watcher.h"
#include "monitor/options.h"
#include "monitor/periodic_timer.h"
#include "monitor/totals.h"

namespace cleave::monitor {

// The sockets that the options name. Opened before any thread is started.
struct DaemonSockets {
  std::vector<daemon::ListeningSocket> clients;
  std::optional<daemon::ListeningSocket> metrics;
};

// Throws OptionError or daemon::ListenError.
DaemonSockets open_sockets(const Options& options);

class Daemon {
 public:
  // Starts the watchers. Everything else starts when `context` runs, in one thread. All arguments must outlive the daemon.
  Daemon(asio::io_context& context, Hypervisor& hypervisor, const Options& options, DaemonSockets sockets);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  // Waits for the watchers. Requires: the loop has ended.
  ~Daemon();

  // Follows the options that may change while it runs: --max-clients, --clients-per-peer and --patience. For the loop's thread.
  void follow(const Options& options);

  // Disconnects all clients, stops listening and the watchers, and ends the event loop. For the loop's thread.
  void stop();

  // Waits for the watchers to end, but not for their pressure samplers. False: one has not ended before the
  // deadline; it may be stuck in a call.
  bool wait_until_ended(TimePoint deadline);

  // The same for the samplers, each of which may be stuck in a call because of one domain.
  bool wait_for_samplers(TimePoint deadline);

  // The addresses on which it listens for clients.
  [[nodiscard]] std::vector<std::string> addresses() const;
  // The address on which it serves metrics; empty: it does not.
  [[nodiscard]] std::string metrics_address() const;
  // For people: "3 running, 1 busy; 2 of 2 hypervisors connected".
  [[nodiscard]] std::string status() const;

 private:
  // The newest report of a watcher, until the event loop reads it. Reports that come while the loop is busy replace each
  // other.
  struct LatestReport {
    base::Mutex mutex;
    Report newest CLEAVE_GUARDED_BY(mutex);
    bool delivery_pending CLEAVE_GUARDED_BY(mutex) = false;
  };

  void watch(Hypervisor& hypervisor, const Options& options);
  void post(std::size_t index, const Report& report);
  void deliver(std::size_t index);
  void follow_pressure();
  void expire();

  asio::io_context& context_;
  Totals totals_;
  Hub hub_;
  daemon::HttpServer http_;
  std::vector<std::unique_ptr<daemon::Listener>> listeners_;
  std::unique_ptr<daemon::Listener> metrics_;
  PeriodicTimer heartbeats_;
  PeriodicTimer expiry_;
  std::vector<std::unique_ptr<LatestReport>> latest_reports_;
  std::vector<std::unique_ptr<Watcher>> watchers_;  // destroyed first: they use all other members
};

}  // namespace cleave::monitor
