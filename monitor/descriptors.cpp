#include "monitor/descriptors.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

#include <sys/resource.h>

#include "daemon/http.h"
#include "monitor/log.h"

namespace cleave::monitor {
namespace {

// For libvirt: its own, and those of each connection.
constexpr std::size_t kLibvirt = 6;
constexpr std::size_t kHypervisor = 4;
// One in four of the rest is for the metrics, while those are few.
constexpr std::size_t kMetricsShare = 4;

// Besides the clients' and those that are open at the start. To refuse a connection takes a descriptor, too.
std::size_t own(const Options& options) {
  return kLibvirt + kHypervisor * options.connect.size() + std::max<std::size_t>(options.listen.size(), 1) +
         options.metrics.size();
}

}  // namespace

void limit_connections(Options& options, std::size_t limit, std::size_t open) {
  const std::size_t used = open + own(options);
  const std::size_t left = limit > used ? limit - used : 0;
  const bool serves = !options.metrics.empty();
  const std::size_t metrics =
      serves ? std::clamp<std::size_t>(left / kMetricsShare, 1, daemon::HttpServer::kMaxConnections) : 0;
  options.metrics_connections = std::max<std::size_t>(metrics, 1);
  const std::size_t clients = std::max<std::size_t>(left > metrics ? left - metrics : 0, 1);
  if (clients >= options.max_clients) return;
  log_line("only " + std::to_string(limit) + " files may be open, enough for " + std::to_string(clients) +
           " clients instead of " + std::to_string(options.max_clients) +
           "; raise the limit (LimitNOFILE=) or lower --max-clients");
  options.max_clients = clients;
}

std::size_t raise_descriptor_limit(const Options& options) {
  constexpr rlim_t kOwn = 128;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = options.max_clients + kOwn;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = wanted;
  if (limit.rlim_max < wanted) limit.rlim_max = wanted;  // for root
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return wanted;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

std::size_t open_descriptors() {
  std::error_code error;
  std::filesystem::directory_iterator all("/proc/self/fd", error);
  if (error) return 0;
  return static_cast<std::size_t>(std::distance(all, std::filesystem::directory_iterator()));
}

}  // namespace cleave::monitor
