// cleave-monitord: reads its options, opens its sockets, and runs until SIGTERM or SIGINT. On SIGHUP it reads its options again.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include "daemon/service_manager.h"
#include "monitor/daemon.h"
#include "monitor/descriptors.h"
#include "monitor/hypervisor/libvirt.h"
#include "monitor/options.h"

#include <asio/signal_set.hpp>

namespace cleave::monitor {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

// At the end a watcher may be stuck in a call to a hypervisor. It has no state to be saved.
constexpr std::chrono::seconds kShutdownGrace{2};
// A sample of the pressure may wait for a domain that hangs, which is not the hypervisor's fault.
constexpr std::chrono::milliseconds kSamplerGrace{100};
constexpr std::chrono::seconds kStatusPeriod{5};

// Reports readiness, status and liveness to the service manager, if there is one.
class ServiceManager {
 public:
  ServiceManager(asio::io_context& context, const Daemon& daemon)
      : daemon_(daemon), status_(context, kStatusPeriod, [this] { send_status(); }) {
    const auto within = daemon::watchdog();
    if (within) watchdog_.emplace(context, *within / 2, [] { daemon::notify("WATCHDOG=1"); });
  }

  void ready() {
    daemon::notify("READY=1");
    send_status();
  }

  static void stopping() { daemon::notify("STOPPING=1"); }

 private:
  void send_status() {
    std::string status = "STATUS=" + daemon_.status();
    if (status == last_status_) return;
    last_status_ = std::move(status);
    daemon::notify(last_status_);
  }

  const Daemon& daemon_;
  PeriodicTimer status_;
  std::optional<PeriodicTimer> watchdog_;
  std::string last_status_;
};

void log_addresses(const Daemon& daemon) {
  for (const std::string& address : daemon.addresses()) log_line("listening on " + address);
  if (!daemon.metrics_address().empty()) log_line("metrics on " + daemon.metrics_address());
}

using Arguments = std::span<const char* const>;

// Reads the options again on each SIGHUP, and follows those that may change while it runs.
class Reloading {
 public:
  Reloading(asio::io_context& context, Daemon& daemon, Arguments arguments, std::size_t limit,
            std::size_t open)
      : daemon_(daemon), arguments_(arguments), limit_(limit), open_(open), signals_(context, SIGHUP) {
    wait();
  }

 private:
  void wait() {
    signals_.async_wait([this](const daemon::ErrorCode& error, int) {
      if (error) return;
      reload();
      wait();
    });
  }

  void reload() try {
    auto options = read_options(arguments_);
    if (!options) return;
    limit_ = std::max(limit_, raise_descriptor_limit(*options));
    limit_connections(*options, limit_, open_);
    daemon_.follow(*options);
    log_line("SIGHUP: max-clients " + std::to_string(options->max_clients) + ", clients-per-peer " +
             std::to_string(options->clients_per_peer) + " and patience " +
             std::to_string(options->patience.count()) + " hold from now on; other options need a restart");
  } catch (const std::exception& error) {
    log_line(std::string("SIGHUP: ") + error.what() + "; the options stay as they were");
  }

  Daemon& daemon_;
  const Arguments arguments_;
  std::size_t limit_;
  const std::size_t open_;  // descriptors, at the start
  asio::signal_set signals_;
};

int run(Options options, Arguments arguments) {
  // libvirt writes to its connections with write(2), from our threads as well: a connection that breaks meanwhile would end the daemon.
  std::signal(SIGPIPE, SIG_IGN);
  DaemonSockets sockets = open_sockets(options);
  const std::size_t limit = raise_descriptor_limit(options);
  asio::io_context context(1);
  asio::signal_set signals(context, SIGTERM, SIGINT);
  const std::size_t open = open_descriptors();
  limit_connections(options, limit, open);
  Libvirt libvirt;
  Daemon daemon(context, libvirt, options, std::move(sockets));
  log_addresses(daemon);
  ServiceManager manager(context, daemon);
  const Reloading reloading(context, daemon, arguments, limit, open);
  signals.async_wait([&](const daemon::ErrorCode& error, int) {
    if (error) return;
    ServiceManager::stopping();
    daemon.stop();
  });
  manager.ready();
  context.run();
  if (!daemon.wait_until_ended(std::chrono::steady_clock::now() + kShutdownGrace)) {
    log_line("a hypervisor does not answer; stopping without it");
    std::_Exit(EXIT_SUCCESS);
  }
  if (!daemon.wait_for_samplers(std::chrono::steady_clock::now() + kSamplerGrace)) std::_Exit(EXIT_SUCCESS);
  return EXIT_SUCCESS;
}

int start(Arguments arguments) try {
  const auto options = read_options(arguments);
  return options ? run(*options, arguments) : EXIT_SUCCESS;
} catch (const OptionError& error) {
  log_line(error.what());
  return kUsage;
} catch (const std::exception& error) {
  log_line(error.what());
  return kFailed;
}

}  // namespace
}  // namespace cleave::monitor

int main(int count, char** arguments) {
  return cleave::monitor::start({arguments, static_cast<std::size_t>(count)});
}
