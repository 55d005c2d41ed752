#include "daemon/metrics.h"

#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace cleave::daemon {

struct MetricList::Families {
  prometheus::ClientMetric& add(const char* name, const char* help, prometheus::MetricType type) {
    return list.emplace_back(prometheus::MetricFamily{name, help, type, {prometheus::ClientMetric{}}})
        .metric.front();
  }
  std::vector<prometheus::MetricFamily> list;
};

MetricList::MetricList() : families_(std::make_unique<Families>()) {}
MetricList::~MetricList() = default;

void MetricList::gauge(const char* name, const char* help, double value) {
  families_->add(name, help, prometheus::MetricType::Gauge).gauge.value = value;
}

void MetricList::counter(const char* name, const char* help, double value) {
  families_->add(name, help, prometheus::MetricType::Counter).counter.value = value;
}

std::string MetricList::as_text() const { return prometheus::TextSerializer().Serialize(families_->list); }

}  // namespace cleave::daemon
