// Metrics in Prometheus' text format, version 0.0.4. The Prometheus library is used nowhere else.
//
// Not thread-safe: one list is made for each request.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cleave::daemon {

class MetricList {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  MetricList();
  MetricList(const MetricList&) = delete;
  MetricList& operator=(const MetricList&) = delete;
  ~MetricList();

  void gauge(const char* name, const char* help, double value);
  void counter(const char* name, const char* help, double value);
  template <std::integral Integer>
  void gauge(const char* name, const char* help, Integer value) {
    gauge(name, help, static_cast<double>(value));
  }
  template <std::integral Integer>
  void counter(const char* name, const char* help, Integer value) {
    counter(name, help, static_cast<double>(value));
  }

  // Of several that differ in their labels. All of one name belong to one metric, whose help is the first one's.
  using Labels = std::vector<std::pair<std::string, std::string>>;
  void gauge(const char* name, const char* help, const Labels& labels, double value);
  void counter(const char* name, const char* help, const Labels& labels, double value);

  [[nodiscard]] std::string as_text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace cleave::daemon
