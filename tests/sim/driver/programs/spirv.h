// As much of SPIR-V as the driver needs: which kernels a module has, and how many parameters each.
#pragma once

#include <string_view>
#include <vector>

#include "tests/sim/driver/programs/kernel_scanner.h"

namespace cleave::sim {

// Whether `module` begins with SPIR-V's magic number, in this machine's byte order.
bool is_spirv(std::string_view module);

// The entry points of a module. Their parameters are not examined: they are of kind `unknown`. Reads
// no further than a malformed instruction.
std::vector<KernelSignature> entry_points(std::string_view module);

}  // namespace cleave::sim
