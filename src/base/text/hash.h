// FNV-1a, a hash that is the same in every process and version: for keys that are kept in files. Not for secrets.
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cleave::base {

inline constexpr std::uint64_t kHashSeed = 0xcbf29ce484222325U;

// `hash`: that of what comes before.
inline std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t hash = kHashSeed) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}
inline std::uint64_t hash_of(std::string_view text, std::uint64_t hash = kHashSeed) {
  return hash_of(std::as_bytes(std::span(text)), hash);
}

}  // namespace cleave::base
