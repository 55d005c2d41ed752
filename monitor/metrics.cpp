#include "monitor/metrics.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <unistd.h>

#include <sys/resource.h>

namespace cleave::monitor {
namespace {

class Text {
 public:
  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    add(name, help, "gauge", std::to_string(value));
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    add(name, help, "counter", std::to_string(value));
  }
  void counter(std::string_view name, std::string_view help, double value) {
    add(name, help, "counter", std::to_string(value));
  }
  std::string take() { return std::move(text_); }

 private:
  void add(std::string_view name, std::string_view help, std::string_view type, const std::string& value) {
    text_.append("# HELP ")
        .append(name)
        .append(" ")
        .append(help)
        .append("\n# TYPE ")
        .append(name)
        .append(" ");
    text_.append(type).append("\n").append(name).append(" ").append(value).append("\n");
  }

  std::string text_;
};

// Summed over all hypervisors.
struct Sums {
  std::uint64_t events = 0;
  std::uint64_t listings = 0;
  std::uint64_t corrections = 0;
  std::uint64_t losses = 0;
};

Sums sums_of(const Tally& tally) {
  Sums sums;
  for (const Report& report : tally.reports()) {
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

void add_total(Text& text, const Total& total) {
  text.gauge("cleave_monitor_known", "1 while the counts are known.", total.known ? 1 : 0);
  if (!total.known) return;
  text.gauge("cleave_monitor_running", "Domains that run.", total.counts.running);
  text.gauge("cleave_monitor_busy", "Domains that use their processors.", total.counts.busy);
}

void add_hypervisors(Text& text, const Tally& tally) {
  const Sums sums = sums_of(tally);
  text.gauge("cleave_monitor_hypervisors", "Hypervisors to follow.", tally.reports().size());
  text.gauge("cleave_monitor_hypervisors_connected", "Those that are connected and answer.",
             tally.connected());
  text.counter("cleave_monitor_events_total", "Lifecycle events.", sums.events);
  text.counter("cleave_monitor_listings_total", "Listings of the running domains.", sums.listings);
  text.counter("cleave_monitor_corrections_total", "Listings that differed from what the events had led to.",
               sums.corrections);
  text.counter("cleave_monitor_losses_total", "Connections to hypervisors that were lost.", sums.losses);
}

void add_clients(Text& text, const Hub& hub) {
  const Hub::Figures& figures = hub.figures();
  text.gauge("cleave_monitor_clients", "Clients connected.", hub.clients());
  text.counter("cleave_monitor_clients_admitted_total", "Clients let in.", figures.admitted);
  text.counter("cleave_monitor_clients_refused_total", "Clients beyond the limit.", figures.refused);
  text.counter("cleave_monitor_clients_slow_total", "Clients dropped because they took nothing.",
               figures.slow);
  text.counter("cleave_monitor_clients_long_lines_total", "Clients dropped for a line that was too long.",
               figures.long_lines);
  text.counter("cleave_monitor_changes_total", "Totals published.", figures.changes);
}

}  // namespace

std::string metrics(const Tally& tally, const Hub& hub) {
  Text text;
  add_total(text, tally.total());
  add_hypervisors(text, tally);
  add_clients(text, hub);
  text.gauge("process_resident_memory_bytes", "Resident memory.", resident_bytes());
  text.counter("process_cpu_seconds_total", "Processor time, user and system.", processor_seconds());
  return text.take();
}

HttpAnswer page(std::string_view path, const Tally& tally, const Hub& hub) {
  if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", metrics(tally, hub)};
  if (path != "/healthz") return {404, "text/plain", "there are /metrics and /healthz\n"};
  const std::string state = std::to_string(tally.connected()) + " of " +
                            std::to_string(tally.reports().size()) + " hypervisors connected\n";
  return {tally.connected() > 0 ? 200U : 503U, "text/plain", state};
}

}  // namespace cleave::monitor
