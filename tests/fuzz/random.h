// Random numbers that are the same on every machine. Each generated entity has its own stream, so that one case of a campaign
// can be generated without those before it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // The stream of `what` number `index`, independent of this one's position.
  static Random stream(std::uint64_t seed, std::string_view what, std::uint64_t index) {
    std::uint64_t state = seed;
    for (const char letter : what) state = mix(state ^ static_cast<unsigned char>(letter));
    return Random(mix(state ^ index));
  }

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15U); }
  std::uint32_t word() { return static_cast<std::uint32_t>(next() >> 32U); }
  // 0 to count - 1.
  std::uint32_t below(std::size_t count) { return static_cast<std::uint32_t>(next() % count); }
  std::uint32_t between(std::uint32_t least, std::uint32_t most) { return least + below(most - least + 1U); }
  bool chance(unsigned percent) { return below(100) < percent; }

  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  static std::uint64_t mix(std::uint64_t value) {  // splitmix64
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
  }

  std::uint64_t state_;
};

}  // namespace fuzz
