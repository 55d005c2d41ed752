// Lists of names that mean the same to a scanner.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace cleave::kernels {

// Equality for words of which most differ in their size or first character: the others alone cost a call.
constexpr bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || (a.front() == b.front() && a == b));
}

template <std::size_t N>
constexpr bool is_in(const std::array<std::string_view, N>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [name](std::string_view one) { return same_word(one, name); });
}

inline constexpr std::array<std::string_view, 3> kVolatile = {"volatile", "__volatile", "__volatile__"};
inline constexpr std::array<std::string_view, 3> kAssembly = {"asm", "__asm", "__asm__"};
// Of HarmlessAtomics::kWords.
inline constexpr std::array<std::string_view, 5> kIntegers = {"int", "uint", "unsigned", "long", "ulong"};

}  // namespace cleave::kernels
