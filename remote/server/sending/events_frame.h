// Builds a frame of the kind `events`: the server's messages to its client, and their payloads.
//
// Not thread-safe: each thread builds its own. Payloads are not copied: they have to live until the frame has been sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "remote/protocol/limits.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::server {

class EventsFrame {
 public:
  EventsFrame() : builder_(1024) {}

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  // Adds a message that has been built.
  template <typename Table>
  void add(flatbuffers::Offset<Table> event, std::span<const std::byte> payload = {}) {
    items_.push_back(
        wire::CreateItem(builder_, payload.size(), wire::EventTraits<Table>::enum_value, event.Union()));
    if (!payload.empty()) payloads_.push_back(payload);
  }

  // An answer that holds only what the function returned.
  void answer(std::uint32_t request, int error) { add(wire::CreateAnswer(builder_, request, error)); }
  void failure(std::uint64_t object, std::uint64_t queue, int error) {
    add(wire::CreateFailure(builder_, object, queue, error));
  }
  void completion(std::uint64_t event, int status, const std::optional<wire::Times>& times = {}) {
    add(wire::CreateCompletion(builder_, event, status, times ? &*times : nullptr));
  }

  [[nodiscard]] bool empty() const { return items_.empty(); }
  // A client accepts at most kMaxCommands items; half of them is left for what may still be added.
  [[nodiscard]] bool is_full() const { return items_.size() >= kMaxCommands / 2; }
  // Nor a longer message: there is room for one item more, whatever it is.
  [[nodiscard]] bool is_large() const { return builder_.GetSize() >= kMaxMessageSize / 4; }

  // Completes the message; afterwards the frame can only be sent and cleared.
  std::span<const std::byte> finish(std::uint64_t commands_ended, std::uint64_t bytes_ended) {
    builder_.Finish(wire::CreateEvents(builder_, builder_.CreateVector(items_), commands_ended, bytes_ended));
    return std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize()));
  }
  [[nodiscard]] std::span<const std::span<const std::byte>> payloads() const { return payloads_; }

  void clear() {
    builder_.Clear();
    items_.clear();
    payloads_.clear();
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<wire::Item>> items_;
  std::vector<std::span<const std::byte>> payloads_;
};

}  // namespace cleave::remote::server
