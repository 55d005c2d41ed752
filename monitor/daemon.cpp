#include "monitor/daemon.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cleave/monitor.h"
#include "daemon/peer_key.h"
#include "monitor/hypervisor/libvirt_uri.h"
#include "monitor/metrics.h"

namespace cleave::monitor {
namespace {

// How much longer than its interval a listing may take before its hypervisor counts as stuck. Shorter than libvirt's
// keepalive needs to notice, long enough for a busy host.
constexpr std::chrono::milliseconds kListingGrace{3000};
constexpr std::chrono::milliseconds kExpiryPeriod{250};
constexpr std::chrono::milliseconds kHttpTimeout{5000};

HubOptions hub_options(const Options& options) {
  HubOptions result;
  result.max_clients = options.max_clients;
  result.clients_per_peer = options.clients_per_peer;
  result.heartbeat = options.heartbeat;
  result.patience = options.patience;
  result.busy_share = static_cast<unsigned>(std::lround(options.busy_share * 100));
  result.interval = options.interval;
  return result;
}

daemon::ListeningSocket open_one(const char* option, const base::Address& address,
                                 const Options& options) try {
  return daemon::listen_on(address, {options.socket_mode, options.socket_group});
} catch (const daemon::ListenError& error) {
  throw daemon::ListenError(std::string(option) + ": " + base::as_text(address) + ": " + error.what());
}

base::Address default_address() {
  base::Address address;
  address.path = CLEAVE_MONITOR_SOCKET;
  return address;
}

}  // namespace

DaemonSockets open_sockets(const Options& options) {
  DaemonSockets sockets;
  sockets.clients = daemon::inherited_sockets();
  std::vector<base::Address> addresses = options.listen;
  if (addresses.empty() && sockets.clients.empty()) addresses.push_back(default_address());
  for (const base::Address& address : addresses) {
    sockets.clients.push_back(open_one("--listen", address, options));
  }
  for (const base::Address& address : options.metrics)
    sockets.metrics = open_one("--metrics", address, options);
  return sockets;
}

Daemon::Daemon(asio::io_context& context, Hypervisor& hypervisor, const Options& options,
               DaemonSockets sockets)
    : context_(context),
      totals_(options.connect.size(), options.interval + kListingGrace),
      hub_(hub_options(options)),
      http_([this](std::string_view path) { return metrics_page(path, totals_, hub_); }, kHttpTimeout,
            options.metrics_connections),
      heartbeats_(context, std::chrono::nanoseconds(options.heartbeat) / Hub::kRounds,
                  [this] { hub_.send_heartbeat(); }),
      expiry_(context, kExpiryPeriod, [this] { expire(); }) {
  for (daemon::ListeningSocket& socket : sockets.clients) {
    const auto take = [this](daemon::Stream stream) {
      const daemon::Peer peer = daemon::peer_of(stream.native_handle());
      hub_.admit(std::move(stream), peer);
      follow_pressure();
    };
    listeners_.push_back(
        std::make_unique<daemon::Listener>(context, std::move(socket), options.patience, take));
  }
  if (sockets.metrics) {
    const auto take = [this](daemon::Stream stream) { http_.admit(std::move(stream)); };
    metrics_ = std::make_unique<daemon::Listener>(context, std::move(*sockets.metrics), kHttpTimeout, take);
  }
  watch(hypervisor, options);
}

Daemon::~Daemon() {
  for (const auto& watcher : watchers_) watcher->stop();
}

void Daemon::watch(Hypervisor& hypervisor, const Options& options) {
  WatcherOptions watcher_options;
  watcher_options.interval = options.interval;
  watcher_options.busy_share = options.busy_share;
  for (std::size_t i = 0; i < options.connect.size(); ++i)
    latest_reports_.push_back(std::make_unique<LatestReport>());
  watcher_options.pressure.interval = options.pressure_interval;
  for (std::size_t i = 0; i < options.connect.size(); ++i) {
    watcher_options.pressure.host_stall = nullptr;
    if (stalls_like_this_host(options.connect[i])) watcher_options.pressure.host_stall = read_host_stall;
    const auto sink = [this, i](const Report& report) { post(i, report); };
    watchers_.push_back(std::make_unique<Watcher>(hypervisor, options.connect[i], watcher_options, sink));
  }
}

// Called by a watcher's threads.
void Daemon::post(std::size_t index, const Report& report) {
  LatestReport& latest = *latest_reports_[index];
  const base::MutexLock lock(latest.mutex);
  latest.newest = report;
  if (std::exchange(latest.delivery_pending, true)) return;
  asio::post(context_, [this, index] { deliver(index); });
}

void Daemon::deliver(std::size_t index) {
  Report report;
  {
    LatestReport& latest = *latest_reports_[index];
    const base::MutexLock lock(latest.mutex);
    report = latest.newest;
    latest.delivery_pending = false;
  }
  if (totals_.report(index, report, std::chrono::steady_clock::now())) hub_.publish(totals_.total());
}

// Not only for clients: readers of the metrics expect a current figure.
void Daemon::follow_pressure() {
  for (const auto& watcher : watchers_) watcher->follow_pressure_closely(hub_.clients() > 0 || metrics_);
}

void Daemon::expire() {
  follow_pressure();  // clients may have left
  if (totals_.expire(std::chrono::steady_clock::now())) hub_.publish(totals_.total());
}

void Daemon::follow(const Options& options) {
  hub_.set_limits(options.max_clients, options.clients_per_peer, options.patience);
}

void Daemon::stop() {
  for (const auto& watcher : watchers_) watcher->stop();
  for (const auto& listener : listeners_) listener->stop();
  if (metrics_) metrics_->stop();
  hub_.stop();
  // Cancelling each operation would not be enough: one that has just completed starts the next.
  context_.stop();
}

bool Daemon::wait_until_ended(TimePoint deadline) {
  return std::all_of(watchers_.begin(), watchers_.end(),
                     [&](const auto& each) { return each->wait_until_ended(deadline); });
}

bool Daemon::wait_for_samplers(TimePoint deadline) {
  return std::all_of(watchers_.begin(), watchers_.end(),
                     [&](const auto& each) { return each->wait_for_sampler(deadline); });
}

std::vector<std::string> Daemon::addresses() const {
  std::vector<std::string> all;
  for (const auto& listener : listeners_) all.push_back(listener->address());
  return all;
}

std::string Daemon::metrics_address() const { return metrics_ ? metrics_->address() : ""; }

std::string Daemon::status() const {
  const Total& total = totals_.total();
  const std::string count = total.known ? std::to_string(total.counts.running) + " running, " +
                                              std::to_string(total.counts.busy) + " busy"
                                        : "number of running domains unknown";
  return count + "; " + std::to_string(totals_.connected()) + " of " +
         std::to_string(totals_.reports().size()) + " hypervisors connected";
}

}  // namespace cleave::monitor
