// Common to all harnesses. A harness is a file that defines LLVMFuzzerTestOneInput, which libFuzzer or driver.cpp calls with
// one input after the other, from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// Name and type are libFuzzer's. The input is a block of exactly that size. Always returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace cleave::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view{} : std::string_view{reinterpret_cast<const char*>(data), size};
}

// Aborts the program if the condition is false: a finding.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace cleave::fuzz
