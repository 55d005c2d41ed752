#include "base/text/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace cleave::base {
namespace {

using Words = std::array<std::uint64_t, 8>;
constexpr std::size_t kBlockSize = 128;
using Block = std::array<std::byte, kBlockSize>;

constexpr Words kInitial = {0x6a09e667f3bcc908U, 0xbb67ae8584caa73bU, 0x3c6ef372fe94f82bU,
                            0xa54ff53a5f1d36f1U, 0x510e527fade682d1U, 0x9b05688c2b3e6c1fU,
                            0x1f83d9abfb41bd6bU, 0x5be0cd19137e2179U};
// Unkeyed, sequential, 32 bytes long.
constexpr std::uint64_t kParameters = 0x01010020U;

constexpr std::array<std::array<std::uint8_t, 16>, 10> kOrder = {
    {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
     {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
     {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
     {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
     {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
     {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
     {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
     {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
     {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
     {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}}};

[[gnu::always_inline]] inline void mix(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d,
                                       std::uint64_t x, std::uint64_t y) {
  a += b + x;
  d = std::rotr(d ^ a, 32);
  c += d;
  b = std::rotr(b ^ c, 24);
  a += b + y;
  d = std::rotr(d ^ a, 16);
  c += d;
  b = std::rotr(b ^ c, 63);
}

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

template <std::size_t kRound>
[[gnu::always_inline]] inline void mix_all(std::array<std::uint64_t, 16>& v,
                                           const std::array<std::uint64_t, 16>& m) {
  constexpr auto s = kOrder[kRound % kOrder.size()];
  mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
  mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
  mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
  mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
  mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
  mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
  mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
  mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
}

// Unrolled: with the order of the words known to the compiler this is several times as fast.
template <std::size_t... kRounds>
void mix_rounds(std::array<std::uint64_t, 16>& v, const std::array<std::uint64_t, 16>& m,
                std::index_sequence<kRounds...> /*rounds*/) {
  (mix_all<kRounds>(v, m), ...);
}

// `counted`: the bytes so far, with this block's.
void compress(Words& state, std::span<const std::byte> block, std::uint64_t counted, bool last) {
  std::array<std::uint64_t, 16> m{};
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = word_at(block.data() + 8 * i);
  std::array<std::uint64_t, 16> v{};
  std::copy(state.begin(), state.end(), v.begin());
  std::copy(kInitial.begin(), kInitial.end(), v.begin() + 8);
  v[12] ^= counted;
  if (last) v[14] = ~v[14];
  mix_rounds(v, m, std::make_index_sequence<12>());
  for (std::size_t i = 0; i < state.size(); ++i) state[i] ^= v[i] ^ v[i + 8];
}

}  // namespace

Digest digest_of(std::span<const std::byte> bytes) noexcept {
  Words state = kInitial;
  state[0] ^= kParameters;
  const std::uint64_t size = bytes.size();
  for (; bytes.size() > kBlockSize; bytes = bytes.subspan(kBlockSize))
    compress(state, bytes.first(kBlockSize), size - bytes.size() + kBlockSize, false);
  Block rest{};
  std::copy(bytes.begin(), bytes.end(), rest.begin());
  compress(state, rest, size, true);
  return {{state[0], state[1], state[2], state[3]}};
}

Digest digest_of(std::string_view text) noexcept { return digest_of(std::as_bytes(std::span(text))); }

std::string to_text(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * sizeof digest);
  for (std::uint64_t word : digest.words) {
    for (std::size_t i = 0; i < sizeof word; ++i, word >>= 8U) {
      text.push_back(kDigits[(word >> 4U) & 15U]);
      text.push_back(kDigits[word & 15U]);
    }
  }
  return text;
}

}  // namespace cleave::base
