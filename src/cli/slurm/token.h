// A secret for one job.
#pragma once

#include <string>

namespace cleave::cli {

// 48 hexadecimal digits of the system's randomness. Throws std::runtime_error if there is none.
std::string make_token();

}  // namespace cleave::cli
