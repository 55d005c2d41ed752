#include "plan/pocl_local_size.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace cleave::plan {
namespace {

// PoCL tries the dimensions in this order wherever it makes a work-group smaller.
constexpr std::array<unsigned, 3> kOutermostFirst{2, 1, 0};

std::size_t upper_divisor(std::size_t of, std::size_t limit) {
  if (of < limit) return of;
  while (of % limit != 0) --limit;
  return limit;
}

// The state of PoCL's search: a work-group that divides the launch, in multiples of `grain` where possible.
struct Search {
  Extent global;
  Extent grain{};
  Extent local{};

  bool divides(unsigned d, std::size_t size) const { return size % grain[d] == 0 && global[d] % size == 0; }

  bool halve() {
    for (const unsigned d : kOutermostFirst) {
      if (local[d] % 2 != 0 || !divides(d, local[d] / 2)) continue;
      local[d] /= 2;
      return true;
    }
    return false;
  }

  bool drop_least_grain() {
    for (const unsigned d : kOutermostFirst) {
      if (local[d] == 1 || grain[d] > *std::min_element(grain.begin(), grain.end())) continue;
      local[d] = 1;
      return true;
    }
    return false;
  }

  void drop_any() {
    for (const unsigned d : kOutermostFirst) {
      if (local[d] == 1) continue;
      local[d] = 1;
      return;
    }
  }

  // Divides a dimension by `parts`, or by the next smaller number that fits one.
  bool divide(std::size_t parts) {
    for (; parts > 1; --parts) {
      for (const unsigned d : kOutermostFirst) {
        if (local[d] % parts != 0 || !divides(d, local[d] / parts)) continue;
        local[d] /= parts;
        return true;
      }
    }
    return false;
  }

  bool drop_smallest(std::size_t least_group) {
    for (const unsigned d : kOutermostFirst) {
      const bool smallest = local[d] == *std::min_element(local.begin(), local.end());
      if (local[d] == 1 || !smallest || items(local) / local[d] < least_group) continue;
      local[d] = 1;
      return true;
    }
    return false;
  }

  std::size_t groups() const {
    return items({global[0] / local[0], global[1] / local[1], global[2] / local[2]});
  }
};

}  // namespace

std::optional<Extent> pocl_local_size(const NDRange& range, const LocalLimits& limits, std::size_t units) {
  const std::size_t multiple = std::max<std::size_t>(1, limits.multiple);
  Search search{range.global};
  for (unsigned d = 0; d < 3; ++d) {
    const std::size_t most = std::min(limits.items[d], range.global[d]);
    search.grain[d] = std::gcd(multiple, range.global[d]);
    if (most < search.grain[d]) return std::nullopt;
    search.local[d] =
        d > 0 && most <= 1
            ? 1
            : upper_divisor(range.global[d] / search.grain[d], most / search.grain[d]) * search.grain[d];
  }
  while (items(search.local) > std::max<std::size_t>(1, limits.group)) {
    if (!search.halve() && !search.drop_least_grain()) search.drop_any();
  }
  const std::size_t least_group = std::min(4 * multiple, limits.group);
  while (true) {
    const std::size_t parts = units / search.groups();
    if (parts <= 1 || items(search.local) < parts * least_group) break;
    if (!search.divide(parts) && !search.drop_smallest(least_group)) break;
  }
  return search.local;
}

}  // namespace cleave::plan
