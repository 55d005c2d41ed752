#include "bench/kernels/work.h"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

namespace kernels {

const Work& find(std::string_view name) {
  for (const Work* work : kWorks) {
    if (work->name == name) return *work;
  }
  throw std::invalid_argument(std::string(name));
}

bool right(const Work& work, Grid global, std::size_t index, unsigned word) {
  const double value = work.floats ? static_cast<double>(std::bit_cast<float>(word)) : word;
  return std::abs(value - work.expected(global, index)) <= work.tolerance;  // not so for a NaN
}

}  // namespace kernels
