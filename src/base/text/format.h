// Numbers as text for users.
//
// Thread-safe: pure functions. They may throw std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "base/clock.h"

namespace cleave::base {

// What printf would print.
template <typename... Args>
std::string formatted(const char* format, Args... args) {
  const int length = std::snprintf(nullptr, 0, format, args...);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, args...);
  text.pop_back();
  return text;
}

// "1.5 us", "1.5 ms" or "1.50 s".
inline std::string as_text(Nanoseconds duration) {
  const auto ns = static_cast<double>(duration.count());
  if (ns < 1e6) return formatted("%.1f us", ns / 1e3);
  if (ns < 1e9) return formatted("%.1f ms", ns / 1e6);
  return formatted("%.2f s", ns / 1e9);
}

}  // namespace cleave::base
