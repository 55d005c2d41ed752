// The limits of one build of a program (build_trials.h). Set by the operator's options.
#pragma once

#include <cstdint>

namespace cleave::remote::server {

struct BuildLimits {
  std::uint64_t seconds = 600;  // of processor time; 0: builds are not tried
  std::uint64_t memory = std::uint64_t{4}
                         << 30U;  // bytes, beyond those that the driver takes without a build
  std::uint64_t output = std::uint64_t{256} << 20U;  // bytes of each file that the compiler writes
};

}  // namespace cleave::remote::server
