#include "remote/server/worker/welcome.h"

#include <chrono>
#include <unistd.h>

#include "remote/protocol/features.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

std::uint64_t time_of_welcome() {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count());
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

DeviceCatalog::DeviceCatalog(const Table& cl, const std::vector<OfferedPlatform>& platforms)
    : builder_(std::size_t{64} * 1024) {
  for (const OfferedPlatform& platform : platforms) platforms_.push_back(describe(cl, builder_, platform));
}

std::span<const std::byte> DeviceCatalog::welcome(const Options& options, const ClientLimits& limits,
                                                  const Assignment& assignment, std::uint64_t features,
                                                  const std::string& session) {
  const auto platforms = builder_.CreateVector(platforms_);
  const auto load = wire::CreateLoad(builder_, assignment.clients, options.max_clients);
  const auto name = builder_.CreateString(host_name());
  const auto trace_session = builder_.CreateString(session);
  const auto peer_addresses = builder_.CreateVectorOfStrings(options.peer_addresses);
  wire::WelcomeBuilder welcome(builder_);
  welcome.add_version(assignment.client.version);
  welcome.add_features(features);
  welcome.add_platforms(platforms);
  welcome.add_window_commands(static_cast<std::uint32_t>(limits.window_commands));
  welcome.add_window_bytes(limits.window_bytes);
  welcome.add_most_memory(limits.memory);
  welcome.add_heartbeat(static_cast<std::uint32_t>(options.heartbeat.count()));
  welcome.add_load(load);
  welcome.add_name(name);
  welcome.add_time(time_of_welcome());
  if (!session.empty()) welcome.add_trace_session(trace_session);
  welcome.add_peer_addresses(peer_addresses);
  builder_.Finish(welcome.Finish());
  return std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize()));
}

}  // namespace cleave::remote::server
