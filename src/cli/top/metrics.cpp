#include "cli/top/metrics.h"

#include <cstdio>

#include "cli/top/metrics_server.h"

namespace cleave::cli {

int serve_metrics([[maybe_unused]] const std::string& address, [[maybe_unused]] const std::string& registry) {
#ifdef CLEAVE_HAS_METRICS
  return run_metrics_server(address, registry);
#else
  std::fputs("cleave: built without metrics: Asio and prometheus-cpp were missing\n", stderr);
  return 1;
#endif
}

}  // namespace cleave::cli
