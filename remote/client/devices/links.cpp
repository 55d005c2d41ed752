#include "remote/client/devices/links.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/link/info_query.h"

namespace cleave::remote::client {
namespace {

using Duration = std::chrono::nanoseconds;

constexpr int kRoundTrips = 2;
constexpr std::size_t kSmallest = std::size_t{16} << 10U;
constexpr std::size_t kLargest = std::size_t{1} << 20U;
// The time of a large query beyond the round trip that tells a rate: more than a scheduler's whims.
constexpr Duration kTelling = std::chrono::milliseconds(4);

// How long a query with so many bytes takes to the server and back. It asks for the device's type, which needs no input, so that
// servers pass over it. Empty if the connection ends.
std::optional<Duration> time_of_query(Connection& connection, Id device,
                                      const std::vector<std::uint8_t>& input) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::byte> answer;
  ServerQuery query{wire::InfoSubject::device, device, CL_DEVICE_TYPE};
  query.input = input;
  if (query_server(connection, query, answer) == kConnectionLost) return std::nullopt;
  return std::chrono::steady_clock::now() - begin;
}

// The shortest of `count`.
std::optional<Duration> shortest_query(Connection& connection, Id device, std::size_t bytes, int count) {
  const std::vector<std::uint8_t> input(bytes);
  std::optional<Duration> shortest;
  for (int i = 0; i < count; ++i) {
    const auto time = time_of_query(connection, device, input);
    if (!time) return std::nullopt;
    if (!shortest || *time < *shortest) shortest = time;
  }
  return shortest;
}

// Bytes per second; 0 if the connection ends.
std::uint64_t measure_rate(Connection& connection, Id device, Duration round_trip) {
  const Duration telling = std::max(round_trip, kTelling);
  for (std::size_t bytes = kSmallest;; bytes *= 4) {
    auto time = shortest_query(connection, device, bytes, 1);
    // A second one tells whether the first was slow for another reason than the link's rate.
    if (time && (bytes == kLargest || *time - round_trip >= telling)) {
      const auto again = shortest_query(connection, device, bytes, 1);
      time = again ? std::min(*time, *again) : again;
    }
    if (!time) return 0;
    const Duration beyond = std::max(*time - round_trip, Duration(1));
    if (bytes == kLargest || beyond >= telling) {
      return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                        static_cast<double>(beyond.count()));
    }
  }
}

void measure(Connection& connection, Id device, cl_platform_info what) {
  Connection::LinkFigures& figures = connection.link_figures;
  if (what != base::kPlatformLinks && figures.round_trip == 0) {
    const auto round_trip = shortest_query(connection, device, 0, kRoundTrips);
    if (round_trip) figures.round_trip = static_cast<std::uint64_t>(round_trip->count());
  }
  if (what == base::kPlatformLinksRated && figures.round_trip != 0 && figures.bytes_per_second == 0) {
    const Duration round_trip(static_cast<Duration::rep>(figures.round_trip.load()));
    figures.bytes_per_second = measure_rate(connection, device, round_trip);
  }
}

base::RemoteLink link_of(const DeviceState& device, cl_platform_info what) {
  base::RemoteLink link;
  link.server = base::hash_of(catalog.servers.address(device.server));
  const auto connection = live_connection(device, default_deadline());
  if (connection == nullptr) return link;
  measure(*connection, device.id, what);
  link.connected = connection->alive() ? 1 : 0;
  link.round_trip = connection->link_figures.round_trip;
  link.bytes_per_second = connection->link_figures.bytes_per_second;
  return link;
}

}  // namespace

std::vector<base::RemoteLink> links_of_devices(cl_platform_info what) {
  std::map<std::size_t, base::RemoteLink> by_server;
  std::vector<base::RemoteLink> links;
  for (const Object* const object : devices_of_type(CL_DEVICE_TYPE_ALL)) {
    const DeviceState& device = state_of<DeviceState>(*object);
    auto found = by_server.find(device.server);
    if (found == by_server.end()) found = by_server.emplace(device.server, link_of(device, what)).first;
    links.push_back(found->second);
  }
  return links;
}

}  // namespace cleave::remote::client
