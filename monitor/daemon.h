// The whole daemon, put together: watchers, one for each hypervisor, in threads of their own; everything else
// in the thread that runs the event loop, which no hypervisor can hold up.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/http.h"
#include "daemon/listener.h"
#include "monitor/hub.h"
#include "monitor/options.h"
#include "monitor/periodic_timer.h"
#include "monitor/totals.h"
#include "monitor/watcher.h"

namespace cleave::monitor {

// The sockets that the options ask for. Opened before any thread is started.
struct DaemonSockets {
  std::vector<daemon::ListeningSocket> clients;
  std::optional<daemon::ListeningSocket> metrics;
};

// Throws OptionError or daemon::ListenError.
DaemonSockets open_sockets(const Options& options);

class Daemon {
 public:
  // Begins at once; what is to be done in the event loop is done once `context` runs, in one thread. All
  // arguments outlive the daemon.
  Daemon(asio::io_context& context, Hypervisor& hypervisor, const Options& options, DaemonSockets sockets);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  // Waits for the watchers; only after the loop has ended.
  ~Daemon();

  // Hangs up on all clients, listens no more, and tells the watchers to end. Call it in the event loop's
  // thread; the loop then ends by itself.
  void stop();

  // Whether all watchers had ended before the time was up: one may be stuck in a call.
  bool wait_until_ended(TimePoint deadline);

  // Where it listens for clients.
  [[nodiscard]] std::vector<std::string> addresses() const;
  // Where it serves metrics; empty where it does not.
  [[nodiscard]] std::string metrics_address() const;
  // For a person: "3 running, 1 busy; 2 of 2 hypervisors connected".
  [[nodiscard]] std::string status() const;

 private:
  // The newest report of one watcher, on its way to the event loop. However many reports come while the loop
  // is busy, one is kept.
  struct LatestReport {
    std::mutex mutex;
    Report newest;
    bool delivery_pending = false;
  };

  void watch(Hypervisor& hypervisor, const Options& options);
  void post(std::size_t index, const Report& report);
  void deliver(std::size_t index);
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
  std::vector<std::unique_ptr<Watcher>> watchers_;  // first to go: they post to all the rest
};

}  // namespace cleave::monitor
