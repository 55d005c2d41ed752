#include "monitor/descriptors.h"

#include <gtest/gtest.h>

#include "daemon/http.h"

namespace cleave::monitor {
namespace {

Options with_metrics() {
  Options options;
  options.connect = {"fake:"};
  options.metrics = {base::Address{}};
  return options;
}

TEST(Descriptors, ClientsLeaveSomeForMetricsAndHypervisors) {
  for (const std::size_t limit : {32U, 64U, 256U, 1024U, 20'000U}) {
    Options options = with_metrics();
    constexpr std::size_t kOpen = 10;
    limit_connections(options, limit, kOpen);
    EXPECT_GE(options.max_clients, 1U);
    EXPECT_LE(options.max_clients, 10'000U);
    EXPECT_GE(options.metrics_connections, 1U);
    constexpr std::size_t kLibvirt = 10;  // and one to refuse with
    EXPECT_LE(kOpen + options.max_clients + options.metrics_connections + kLibvirt, limit);
  }
}

TEST(Descriptors, ManyLeaveTheOptionsAsTheyAre) {
  Options options = with_metrics();
  limit_connections(options, 20'000, 20);
  EXPECT_EQ(options.max_clients, 10'000U);
  EXPECT_EQ(options.metrics_connections, daemon::HttpServer::kMaxConnections);
}

TEST(Descriptors, TooFewAllowForOneOfEach) {
  Options options = with_metrics();
  limit_connections(options, 8, 20);
  EXPECT_EQ(options.max_clients, 1U);
  EXPECT_EQ(options.metrics_connections, 1U);
}

TEST(Descriptors, AreCounted) { EXPECT_GE(open_descriptors(), 3U); }

}  // namespace
}  // namespace cleave::monitor
