#include "monitor/metrics.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <sys/resource.h>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace cleave::monitor {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
 public:
  template <typename Number>
  void gauge(const char* name, const char* help, Number value) {
    add(name, help, MetricType::Gauge).gauge.value = static_cast<double>(value);
  }
  template <typename Number>
  void counter(const char* name, const char* help, Number value) {
    add(name, help, MetricType::Counter).counter.value = static_cast<double>(value);
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(list_); }

 private:
  ClientMetric& add(const char* name, const char* help, MetricType type) {
    return list_.emplace_back(MetricFamily{name, help, type, {ClientMetric{}}}).metric.front();
  }

  std::vector<MetricFamily> list_;
};

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

void add_total(Families& families, const Total& total) {
  families.gauge("cleave_monitor_known", "1 while the counts are known.", total.known ? 1 : 0);
  if (!total.known) return;
  families.gauge("cleave_monitor_running", "Domains that run.", total.counts.running);
  families.gauge("cleave_monitor_busy", "Domains that use their processors.", total.counts.busy);
}

void add_hypervisors(Families& families, const Totals& totals) {
  const Sums sums = sums_of(totals);
  families.gauge("cleave_monitor_hypervisors", "Hypervisors to follow.", totals.reports().size());
  families.gauge("cleave_monitor_hypervisors_connected", "Those that are connected and answer.",
                 totals.connected());
  families.counter("cleave_monitor_events_total", "Lifecycle events.", sums.events);
  families.counter("cleave_monitor_listings_total", "Listings of the running domains.", sums.listings);
  families.counter("cleave_monitor_corrections_total",
                   "Listings that differed from what the events had led to.", sums.corrections);
  families.counter("cleave_monitor_losses_total", "Connections to hypervisors that were lost.", sums.losses);
}

void add_clients(Families& families, const Hub& hub) {
  const Hub::Statistics& statistics = hub.statistics();
  families.gauge("cleave_monitor_clients", "Clients connected.", hub.clients());
  families.counter("cleave_monitor_clients_admitted_total", "Clients let in.", statistics.admitted);
  families.counter("cleave_monitor_clients_refused_total", "Clients beyond the limit.", statistics.refused);
  families.counter("cleave_monitor_clients_slow_total", "Clients dropped because they took nothing.",
                   statistics.slow);
  families.counter("cleave_monitor_clients_long_lines_total", "Clients dropped for a line that was too long.",
                   statistics.long_lines);
  families.counter("cleave_monitor_changes_total", "Totals published.", statistics.changes);
}

}  // namespace

std::string metrics(const Totals& totals, const Hub& hub) {
  Families families;
  add_total(families, totals.total());
  add_hypervisors(families, totals);
  add_clients(families, hub);
  families.gauge("process_resident_memory_bytes", "Resident memory.", resident_bytes());
  families.counter("process_cpu_seconds_total", "Processor time, user and system.", processor_seconds());
  return families.text();
}

HttpAnswer metrics_page(std::string_view path, const Totals& totals, const Hub& hub) {
  if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", metrics(totals, hub)};
  if (path != "/healthz") return {404, "text/plain", "there are /metrics and /healthz\n"};
  const std::string state = std::to_string(totals.connected()) + " of " +
                            std::to_string(totals.reports().size()) + " hypervisors connected\n";
  return {totals.connected() > 0 ? 200U : 503U, "text/plain", state};
}

}  // namespace cleave::monitor
