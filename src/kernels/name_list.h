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

}  // namespace cleave::kernels
