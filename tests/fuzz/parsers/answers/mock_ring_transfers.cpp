// Transfers through rings in shared memory (messages.fbs: Ring).
#include <algorithm>
#include <cstring>

#include "../harness.h"
#include "mock_connection.h"
#include "remote/protocol/limits.h"
#include "remote/transport/ring_slots.h"

namespace cleave::fuzz::answers {
namespace {

volatile std::uint8_t seen;

void look_at(std::span<const std::byte> bytes) {
  constexpr std::size_t kStep = 4096;
  for (std::size_t i = 0; i < bytes.size(); i += kStep) seen = static_cast<std::uint8_t>(bytes[i]);
}

}  // namespace

std::span<std::byte> MockConnection::shared(std::uint64_t offset, std::uint64_t size) const {
  require(offset <= memory_.size() && size <= memory_.size() - offset, "a place is within the shared memory");
  return memory_.subspan(offset, size);
}

bool MockConnection::carry(const wire::Command& command) {
  const bool withholds = progress_.next < progress_.faults.size() &&
                         progress_.answered >= progress_.faults[progress_.next].after &&
                         progress_.faults[progress_.next].kind == Fault::Kind::withhold;
  if (withholds) return input_->skip_payload(command.payload());
  return bytes_of_read(command) == 0 ? carry_write(command) : carry_read(command);
}

bool MockConnection::carry_write(const wire::Command& command) {
  const std::uint64_t slice = command.ring()->slice();
  const auto words = shared(command.ring()->words(), remote::kMaxSlots * sizeof(std::uint32_t));
  for (std::uint64_t i = 0; i < command.payload(); ++i) {
    std::byte told{};
    if (!input_->read_payload({&told, 1})) return false;
    const unsigned slot = std::to_integer<unsigned>(told) & ~unsigned{remote::kCopySlotFlag};
    look_at(shared(command.shared()->offset() + slot * slice, slice));
    remote::return_slot(reinterpret_cast<std::uint32_t*>(words.data())[slot]);
  }
  return true;
}

bool MockConnection::carry_read(const wire::Command& command) {
  const std::uint64_t slice = command.ring()->slice();
  const std::uint64_t whole = bytes_of_read(command);
  const std::uint64_t slots = command.shared()->size() / slice;
  auto* const words = reinterpret_cast<std::uint32_t*>(
      shared(command.ring()->words(), remote::kMaxSlots * sizeof(std::uint32_t)).data());
  for (std::uint64_t at = 0; at < whole; at += slice) {
    std::byte told{static_cast<std::uint8_t>(at / slice)};
    if (at / slice >= slots && !input_->read_payload({&told, 1})) return false;
    const std::uint64_t size = std::min(slice, whole - at);
    if (std::to_integer<std::uint8_t>(told) == remote::kNoSlot) {
      totals_.bytes += size;
      if (!send(part(command.request(), at, size, totals_))) return false;
      continue;
    }
    const auto slot = std::to_integer<std::uint64_t>(told);
    std::memset(shared(command.shared()->offset() + slot * slice, slice).data(), kData, slice);
    remote::return_slot(words[slot]);
  }
  return true;
}

}  // namespace cleave::fuzz::answers
