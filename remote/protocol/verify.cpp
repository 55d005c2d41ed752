#include "remote/protocol/verify.h"

namespace cleave::remote {
namespace {

bool is_at_most(const flatbuffers::String* text, std::size_t most) {
  return text == nullptr || text->size() <= most;
}

// Whether each part has a known body, as `body` reports, and whether the payloads add up.
template <typename Parts, typename Body>
bool payloads_add_up(const Parts* parts, std::uint64_t payload, Body body) {
  if (parts == nullptr) return payload == 0;
  if (parts->size() > kMaxCommands) return false;
  std::uint64_t left = payload;
  for (const auto* part : *parts) {
    if (!body(*part) || part->payload() > left) return false;
    left -= part->payload();
  }
  return left == 0;
}

}  // namespace

const wire::Hello* verified_hello(std::span<const std::byte> bytes) {
  const auto* hello = verified<wire::Hello>(bytes);
  const bool fits =
      hello != nullptr && is_at_most(hello->token(), kMaxToken) && is_at_most(hello->name(), kMaxName);
  return fits ? hello : nullptr;
}

const wire::Peer* verified_peer(std::span<const std::byte> bytes) { return verified<wire::Peer>(bytes); }

const wire::Welcome* verified_welcome(std::span<const std::byte> bytes) {
  return verified<wire::Welcome>(bytes);
}

const wire::Commands* verified_commands(std::span<const std::byte> bytes, std::uint64_t payload) {
  const auto* commands = verified<wire::Commands>(bytes);
  if (commands == nullptr) return nullptr;
  const auto has_body = [](const wire::Command& command) {
    return command.body() != nullptr && command.body_type() <= wire::Body::MAX;
  };
  return payloads_add_up(commands->commands(), payload, has_body) ? commands : nullptr;
}

const wire::Events* verified_events(std::span<const std::byte> bytes, std::uint64_t payload) {
  const auto* events = verified<wire::Events>(bytes);
  if (events == nullptr) return nullptr;
  const auto has_event = [](const wire::Item& item) {
    return item.event() != nullptr && item.event_type() <= wire::Event::MAX;
  };
  return payloads_add_up(events->items(), payload, has_event) ? events : nullptr;
}

}  // namespace cleave::remote
