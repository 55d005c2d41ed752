#include "daemon/metrics.h"

#include <algorithm>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace cleave::daemon {

struct MetricList::Families {
  prometheus::ClientMetric& add(const char* name, const char* help, prometheus::MetricType type) {
    return list.emplace_back(prometheus::MetricFamily{name, help, type, {prometheus::ClientMetric{}}})
        .metric.front();
  }
  prometheus::ClientMetric& add(const char* name, const char* help, prometheus::MetricType type,
                                const Labels& labels) {
    auto family = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.name == name; });
    if (family == list.end())
      family = list.insert(list.end(), prometheus::MetricFamily{name, help, type, {}});
    prometheus::ClientMetric& metric = family->metric.emplace_back();
    for (const auto& [label, text] : labels) metric.label.push_back({label, text});
    return metric;
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

void MetricList::gauge(const char* name, const char* help, const Labels& labels, double value) {
  families_->add(name, help, prometheus::MetricType::Gauge, labels).gauge.value = value;
}

void MetricList::counter(const char* name, const char* help, const Labels& labels, double value) {
  families_->add(name, help, prometheus::MetricType::Counter, labels).counter.value = value;
}

std::string MetricList::as_text() const { return prometheus::TextSerializer().Serialize(families_->list); }

}  // namespace cleave::daemon
