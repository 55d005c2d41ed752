#include "cli/top/metrics_server.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <tuple>
#include <utility>

#include "base/address.h"
#include "cli/top/processes.h"
#include "cli/top/turns.h"
#include "daemon/http.h"
#include "daemon/listener.h"
#include "daemon/metrics.h"
#include "limits/memory_ledger.h"

#include <asio/signal_set.hpp>

namespace cleave::cli {
namespace {

using daemon::MetricList;
using Labels = MetricList::Labels;

constexpr std::chrono::milliseconds kClientPatience{5000};

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }
double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// A device's series: two of one name are distinguished by their files.
Labels device_labels(const SharedDevice& device) {
  return {{"device", device.device}, {"file", device.file}};
}

Labels with(Labels labels, std::initializer_list<std::pair<std::string, std::string>> more) {
  labels.insert(labels.end(), more);
  return labels;
}

void add_tenants(MetricList& list, const SharedDevice& device) {
  for (const turns::TenantReport& each : device.tenants) {
    const Labels labels = with(device_labels(device), {{"tenant", each.tenant}});
    list.counter("cleave_tenant_device_seconds_total",
                 "Device time of a tenant's processes, also of those that have ended.", labels,
                 seconds(each.used));
    list.counter("cleave_tenant_turns_total", "Turns of a tenant's processes on the device.", labels,
                 static_cast<double>(each.turns));
    list.counter("cleave_tenant_waited_seconds_total",
                 "Time that a tenant's processes waited for the device.", labels, seconds(each.waited));
    list.counter("cleave_tenant_capped_seconds_total", "How much of that was for the tenant's own cap.",
                 labels, seconds(each.capped));
    list.counter("cleave_tenant_imposed_seconds_total",
                 "Time that others waited while the tenant had the device.", labels, seconds(each.imposed));
  }
}

void add_takers(MetricList& list, const SharedDevice& device) {
  double living = 0;
  double waiting = 0;
  for (const TurnTaker& taker : device.takers) {
    const turns::ParticipantReport& p = taker.report;
    if (!p.alive) continue;
    ++living;
    waiting += p.waits ? 1 : 0;
    const Labels labels =
        with(device_labels(device),
             {{"tenant", p.tenant}, {"pid", std::to_string(p.pid)}, {"program", taker.program}});
    list.counter("cleave_process_device_seconds_total", "Device time of a process, in its turns.", labels,
                 seconds(p.used));
    list.counter("cleave_process_waited_seconds_total", "Time that a process waited for its turns.", labels,
                 seconds(p.waited));
    list.counter("cleave_process_capped_seconds_total", "How much of that was for its own cap.", labels,
                 seconds(p.capped));
    list.gauge("cleave_process_longest_wait_seconds", "The longest wait of the last 10 to 20 seconds.",
               labels, seconds(p.longest_wait));
    list.gauge("cleave_process_weight", "CLEAVE_WEIGHT of a process.", labels, p.weight);
    list.gauge("cleave_process_cap_ratio", "CLEAVE_CAP of a process, of 1; 0: none.", labels, p.cap / 1000.0);
  }
  list.gauge("cleave_device_processes", "Processes that take turns on the device.", device_labels(device),
             living);
  list.gauge("cleave_device_waiting", "How many of them wait for it now.", device_labels(device), waiting);
}

void add_memory(MetricList& list, const std::string& registry) {
  std::map<std::tuple<std::string, std::string, std::string>, double> sums;
  for (const limits::LedgerReport& each : limits::read_ledgers(registry)) {
    const Labels labels = {{"device", each.device},
                           {"file", each.file},
                           {"tenant", each.tenant},
                           {"pid", std::to_string(each.pid)}};
    list.gauge("cleave_process_memory_bytes", "Memory of a process's objects on the device.", labels,
               static_cast<double>(each.bytes));
    list.gauge("cleave_process_memory_peak_bytes", "The most that it had.", labels,
               static_cast<double>(each.peak));
    list.gauge("cleave_process_memory_limit_bytes", "Its limit, or its tenant's; 0: none.", labels,
               static_cast<double>(each.limit));
    sums[{each.device, each.file, each.tenant}] += static_cast<double>(each.bytes);
  }
  for (const auto& [key, bytes] : sums) {
    const auto& [device, file, tenant] = key;
    list.gauge("cleave_tenant_memory_bytes", "Memory of a tenant's objects on the device.",
               {{"device", device}, {"file", file}, {"tenant", tenant}}, bytes);
  }
}

void add_processes(MetricList& list, const std::vector<RunningProcess>& processes) {
  list.gauge("cleave_processes", "Processes under Cleave on this machine.", processes.size());
  for (const RunningProcess& each : processes) {
    const Labels labels = {{"pid", std::to_string(each.pid)}, {"program", each.program}};
    list.counter("cleave_process_launches_total", "Kernel launches of a process.", labels,
                 static_cast<double>(each.launches));
    list.counter("cleave_process_slices_total", "Slices that its split launches were made of.", labels,
                 static_cast<double>(each.slices));
  }
}

void add_energy(MetricList& list, const EnergyMeters& meters) {
  for (const EnergyReading& each : meters.read()) {
    list.counter("cleave_device_energy_joules_total",
                 "Energy of the device since its driver was loaded, by its management library.",
                 {{"device", each.device}, {"uuid", each.uuid}}, each.joules);
  }
}

}  // namespace

std::string metrics_page_of(const std::string& registry, const EnergyMeters* energy) {
  MetricList list;
  const std::vector<RunningProcess> processes = running_processes(registry);
  add_processes(list, processes);
  for (const SharedDevice& device : shared_devices(registry, processes)) {
    if (!device.problem.empty()) continue;
    add_takers(list, device);
    add_tenants(list, device);
  }
  add_memory(list, registry);
  if (energy != nullptr) add_energy(list, *energy);
  return list.as_text();
}

int run_metrics_server(const std::string& text, const std::string& registry) try {
  const auto address = base::parse_address(text);
  if (!address || !daemon::is_local(*address)) {
    std::fprintf(stderr,
                 "cleave: --metrics: %s is not an address that only this host reaches: give one such as "
                 "tcp:127.0.0.1:9461, or unix:PATH\n",
                 text.c_str());
    return 2;
  }
  asio::io_context context;
  const auto energy = EnergyMeters::open();
  const auto page = [&registry, &energy](std::string_view path) -> daemon::HttpAnswer {
    if (path == "/metrics") return {200, MetricList::kContentType, metrics_page_of(registry, energy.get())};
    if (path == "/healthz") return {200, "text/plain; charset=utf-8", "ok\n"};
    return {404, "text/plain; charset=utf-8", "there are /metrics and /healthz\n"};
  };
  daemon::HttpServer http(page, kClientPatience);
  daemon::Listener listener(context, daemon::listen_on(*address, {}), kClientPatience,
                            [&http](daemon::Stream stream) { http.admit(std::move(stream)); });
  asio::signal_set signals(context, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([&](const auto&, int) {
    listener.stop();
    context.stop();
  });
  std::fprintf(stderr, "cleave: metrics on %s\n", listener.address().c_str());
  context.run();
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "cleave: --metrics: %s\n", failure.what());
  return 1;
}

}  // namespace cleave::cli
