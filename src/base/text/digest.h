// A digest of bytes that identifies them: BLAKE2b with 256 bits (RFC 7693), for what must not be mistaken even if others choose
// the bytes. The same in every process and version. Takes as long as the hash in base/text/hash.h, more than 500 MB/s.
//
// Thread-safe: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cleave::base {

struct Digest {
  std::array<std::uint64_t, 4> words{};

  friend bool operator==(const Digest&, const Digest&) = default;
  friend bool operator<(const Digest& a, const Digest& b) { return a.words < b.words; }
};

Digest digest_of(std::span<const std::byte> bytes) noexcept;
Digest digest_of(std::string_view text) noexcept;

// 64 hexadecimal digits, as `b2sum -l 256` prints them. May throw std::bad_alloc.
std::string to_text(const Digest& digest);

}  // namespace cleave::base
