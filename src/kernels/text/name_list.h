// Lists of names that mean the same to a scanner.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace cleave::kernels {

template <std::size_t N>
constexpr bool is_in(const std::array<std::string_view, N>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

inline constexpr std::array<std::string_view, 3> kVolatile = {"volatile", "__volatile", "__volatile__"};
inline constexpr std::array<std::string_view, 3> kAssembly = {"asm", "__asm", "__asm__"};
// Of HarmlessAtomics::kWords.
inline constexpr std::array<std::string_view, 5> kIntegers = {"int", "uint", "unsigned", "long", "ulong"};

}  // namespace cleave::kernels
