#include "monitor/totals.h"

#include <algorithm>
#include <cmath>

#include "base/text/monitor_line.h"

namespace cleave::monitor {

bool Totals::report(std::size_t hypervisor, const Report& report, TimePoint now) {
  reports_.at(hypervisor) = report;
  return expire(now);
}

bool Totals::expire(TimePoint now) {
  for (Report& report : reports_) {
    if (report.pressure && now > report.pressure_due) report.pressure.reset();
    if (!report.counts || now - report.listed <= patience_) continue;
    report.counts.reset();
    report.pressure.reset();
    report.connected = false;
  }
  return recompute();
}

std::size_t Totals::connected() const {
  return static_cast<std::size_t>(
      std::count_if(reports_.begin(), reports_.end(), [](const Report& report) { return report.connected; }));
}

bool Totals::recompute() {
  const bool known = std::all_of(reports_.begin(), reports_.end(),
                                 [](const Report& report) { return report.counts.has_value(); });
  Counts sum;
  for (const Report& report : reports_) {
    if (!known) break;
    // A client refuses a count beyond the protocol's limit.
    sum.running = std::min(sum.running + report.counts->running, base::kMaxMachines);
    sum.busy = std::min(sum.busy + report.counts->busy, base::kMaxMachines);
  }
  const std::optional<unsigned> pressure = known ? this->pressure() : std::nullopt;
  if (known == total_.known && sum == total_.counts && pressure == total_.pressure) return false;
  total_ = {total_.sequence + 1, known, sum, pressure};
  return true;
}

std::optional<unsigned> Totals::pressure() const {
  double most = 0;
  for (const Report& report : reports_) {
    if (!report.pressure) return std::nullopt;
    most = std::max(most, *report.pressure);
  }
  const auto thousandths = static_cast<unsigned>(std::lround(std::min(most, 1.0) * 1000));
  if (!total_.pressure || thousandths == 0) return thousandths;
  const unsigned before = *total_.pressure;
  const unsigned change = std::max(thousandths, before) - std::min(thousandths, before);
  return change < kPressureStep || change * kPressurePart <= before ? before : thousandths;
}

}  // namespace cleave::monitor
