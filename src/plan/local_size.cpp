#include "plan/local_size.h"

#include <algorithm>

namespace cleave::plan {
namespace {

// Larger groups gain nothing on any known device; this also bounds the search below.
constexpr std::size_t kLargest = 1024;

std::size_t largest_divisor(std::size_t of, std::size_t limit, std::size_t step) {
  for (std::size_t divisor = limit / step * step; divisor >= step; divisor -= step) {
    if (of % divisor == 0) return divisor;
  }
  return 1;
}

}  // namespace

std::optional<Extent> choose_local_size(const NDRange& range, const LocalLimits& limits, std::size_t slices) {
  const std::size_t all = items(range.global);
  const std::size_t multiple = std::max<std::size_t>(1, limits.multiple);
  std::size_t room = std::min({limits.group, kLargest, all / std::max<std::size_t>(1, slices)});
  if (room == 0) return std::nullopt;

  Extent local{1, 1, 1};
  for (unsigned d = 0; d < range.dims && room > 1; ++d) {
    const std::size_t limit = std::min({room, range.global[d], limits.items[d]});
    std::size_t divisor = d == 0 ? largest_divisor(range.global[d], limit, multiple) : 1;
    if (divisor == 1 && limit > 0) divisor = largest_divisor(range.global[d], limit, 1);
    local[d] = divisor;
    room /= divisor;
  }
  const std::size_t group = items(local);
  if (group < std::min({multiple, limits.group, all})) return std::nullopt;
  return local;
}

}  // namespace cleave::plan
