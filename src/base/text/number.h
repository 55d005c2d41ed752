// Parses decimal numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave::base {

// A decimal integer without sign or spaces, from `min` to `max`; empty for anything else.
std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t min, std::uint64_t max);

}  // namespace cleave::base
