// cleave-monitord: reads its options, opens its sockets, and runs until SIGTERM or SIGINT.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include <sys/resource.h>

#include "daemon/service_manager.h"
#include "monitor/daemon.h"
#include "monitor/libvirt.h"
#include "monitor/options.h"

#include <asio/signal_set.hpp>

namespace cleave::monitor {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

// At the end a watcher may be stuck in a call to a hypervisor. It has no state to be saved.
constexpr std::chrono::seconds kShutdownGrace{2};
// A sample of the pressure may wait for a domain that hangs, which is no fault of the hypervisor's.
constexpr std::chrono::milliseconds kSamplerGrace{100};
constexpr std::chrono::seconds kStatusPeriod{5};

// Every client needs a descriptor; a few more are the daemon's and libvirt's.
void raise_open_file_limit(std::size_t clients) {
  constexpr rlim_t kOwn = 128;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = clients + kOwn;
  if (limit.rlim_cur >= wanted) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = wanted;
  if (limit.rlim_max < wanted) limit.rlim_max = wanted;  // for root
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  log_line("only " + std::to_string(limit.rlim_cur) + " files may be open, too few for " +
           std::to_string(clients) + " clients; raise the limit (LimitNOFILE=) or lower --max-clients");
}

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

int run(const Options& options) {
  // libvirt writes to its connections with write(2), from threads of ours as well: one that breaks meanwhile would end us.
  std::signal(SIGPIPE, SIG_IGN);
  DaemonSockets sockets = open_sockets(options);
  raise_open_file_limit(options.max_clients);
  asio::io_context context(1);
  Libvirt libvirt;
  Daemon daemon(context, libvirt, options, std::move(sockets));
  log_addresses(daemon);
  ServiceManager manager(context, daemon);
  asio::signal_set signals(context, SIGTERM, SIGINT);
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

int start(std::span<const char* const> arguments) try {
  const auto options = read_options(arguments);
  return options ? run(*options) : EXIT_SUCCESS;
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
