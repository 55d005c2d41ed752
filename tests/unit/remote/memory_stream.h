// A stream to itself in memory: what is written is read. Its link's measures are the test's to choose.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "remote/transport/stream.h"

namespace cleave::remote {

class MemoryStream : public Stream {
 public:
  ReadStatus read(std::span<std::byte> into, std::size_t& size, Time) override {
    size = std::min(into.size(), bytes.size() - at);
    if (size == 0) return ReadStatus::closed;
    std::memcpy(into.data(), bytes.data() + at, size);
    at += size;
    return ReadStatus::data;
  }
  bool write(std::span<iovec> parts, Duration, const WhileBlocked&) override {
    for (const iovec& part : parts) {
      const auto* const from = static_cast<const std::byte*>(part.iov_base);
      bytes.insert(bytes.end(), from, from + part.iov_len);
    }
    return true;
  }
  bool has_data() override { return at < bytes.size(); }
  void shutdown() override {}
  [[nodiscard]] int descriptor() const override { return -1; }
  std::optional<LinkMeasure> measure() override { return link; }

  std::vector<std::byte> bytes;
  std::size_t at = 0;  // of what is read next
  std::optional<LinkMeasure> link;
};

// 100 KB/s, measured while it was busy.
inline constexpr LinkMeasure kNarrowLink{100'000, true, std::chrono::milliseconds(20)};

}  // namespace cleave::remote
