#include "remote/transport/link_measure.h"

#include <cstddef>

#include <netinet/in.h>

// The C library's own structure ends before the rate; the two headers exclude each other.
#include <linux/tcp.h>
#include <sys/socket.h>

namespace cleave::remote {

std::optional<LinkMeasure> measure_tcp(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  if (size < offsetof(tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate) return std::nullopt;
  return LinkMeasure{info.tcpi_delivery_rate, info.tcpi_delivery_rate_app_limited == 0,
                     std::chrono::microseconds(info.tcpi_min_rtt)};
}

}  // namespace cleave::remote
