#include "monitor/metrics.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <unistd.h>

#include <sys/resource.h>

#include "daemon/metrics.h"

namespace cleave::monitor {
namespace {

using daemon::MetricList;

// Summed over all hypervisors.
struct Sums {
  std::uint64_t events = 0;
  std::uint64_t listings = 0;
  std::uint64_t corrections = 0;
  std::uint64_t losses = 0;
};

Sums sums_of(const Totals& totals) {
  Sums sums;
  for (const Report& report : totals.reports()) {
    sums.events += report.events;
    sums.listings += report.listings;
    sums.corrections += report.corrections;
    sums.losses += report.losses;
  }
  return sums;
}

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};

std::uint64_t resident_bytes() {
  const std::unique_ptr<FILE, CloseFile> file(fopen("/proc/self/statm", "re"));
  unsigned long long all = 0;
  unsigned long long resident = 0;
  if (!file || fscanf(file.get(), "%llu %llu", &all, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void add_total(MetricList& list, const Total& total) {
  list.gauge("cleave_monitor_known", "1 while the counts are known.", total.known ? 1 : 0);
  if (!total.known) return;
  list.gauge("cleave_monitor_running", "Running domains.", total.counts.running);
  list.gauge("cleave_monitor_busy", "Domains that use their processors.", total.counts.busy);
  if (!total.pressure) return;
  list.gauge("cleave_monitor_pressure", "How much the domains lack the processor, from 0 to 1.",
             *total.pressure / 1000.0);
}

void add_hypervisors(MetricList& list, const Totals& totals) {
  const Sums sums = sums_of(totals);
  list.gauge("cleave_monitor_hypervisors", "Hypervisors to follow.", totals.reports().size());
  list.gauge("cleave_monitor_hypervisors_connected", "Hypervisors that are connected and answer.",
             totals.connected());
  list.counter("cleave_monitor_events_total", "Lifecycle events.", sums.events);
  list.counter("cleave_monitor_listings_total", "Listings of the running domains.", sums.listings);
  list.counter("cleave_monitor_corrections_total", "Listings that differed from what the events had led to.",
               sums.corrections);
  list.counter("cleave_monitor_losses_total", "Connections to hypervisors that were lost.", sums.losses);
}

void add_clients(MetricList& list, const Hub& hub) {
  const Hub::Statistics& statistics = hub.statistics();
  list.gauge("cleave_monitor_clients", "Clients connected.", hub.clients());
  list.counter("cleave_monitor_clients_admitted_total", "Clients admitted.", statistics.admitted);
  list.counter("cleave_monitor_clients_refused_total", "Clients beyond the limit.", statistics.refused);
  list.counter("cleave_monitor_clients_displaced_total", "Clients that made room for those of other peers.",
               statistics.displaced);
  list.counter("cleave_monitor_clients_slow_total", "Clients dropped because they accepted no data.",
               statistics.slow);
  list.counter("cleave_monitor_clients_long_lines_total", "Clients dropped for a line that was too long.",
               statistics.long_lines);
  list.counter("cleave_monitor_changes_total", "Totals published.", statistics.changes);
}

}  // namespace

std::string metrics(const Totals& totals, const Hub& hub) {
  MetricList list;
  add_total(list, totals.total());
  add_hypervisors(list, totals);
  add_clients(list, hub);
  list.gauge("process_resident_memory_bytes", "Resident memory.", resident_bytes());
  list.counter("process_cpu_seconds_total", "Processor time, user and system.", processor_seconds());
  return list.as_text();
}

daemon::HttpAnswer metrics_page(std::string_view path, const Totals& totals, const Hub& hub) {
  if (path == "/metrics") return {200, MetricList::kContentType, metrics(totals, hub)};
  if (path != "/healthz") return {404, "text/plain", "there are /metrics and /healthz\n"};
  const std::string state = std::to_string(totals.connected()) + " of " +
                            std::to_string(totals.reports().size()) + " hypervisors connected\n";
  return {totals.connected() > 0 ? 200U : 503U, "text/plain", state};
}

}  // namespace cleave::monitor
