#include "plan/tag.h"

#include <cassert>

namespace cleave::plan {
namespace {

constexpr std::uint32_t kIsTag = std::uint32_t{1} << 31U;
constexpr unsigned kDims = 29;
constexpr std::uint32_t kWithFirst = std::uint32_t{1} << 28U;
constexpr unsigned kCutDims = 26;
constexpr unsigned kHalf = 13;
constexpr std::size_t kMaxInHalf = (std::size_t{1} << kHalf) - 1;
constexpr std::size_t kMaxInAll = (std::size_t{1} << kCutDims) - 1;

bool third_dimension_is_free(const NDRange& range) {
  return range.dims < 3 || (range.global[2] == 1 && range.offset[2] == 0);
}

}  // namespace

std::optional<Tag> Tag::of(const NDRange& range, const Cut& cut) {
  assert(cut.count() >= 2);
  if (!third_dimension_is_free(range)) return std::nullopt;
  unsigned cut_dims = 0;
  for (unsigned d = 0; d < range.dims; ++d) {
    if (!cut.cuts_dimension(d)) continue;
    if (range.uneven(d)) return std::nullopt;
    cut_dims |= 1U << d;
  }
  Tag tag(range);
  if (!tag.encode(cut_dims)) return std::nullopt;
  return tag;
}

bool Tag::encode(unsigned cut_dims) {
  bits_ = kIsTag | (range_.dims << kDims) | (cut_dims << kCutDims);
  if (cut_dims == 3) {
    const bool fits = range_.groups(0) <= kMaxInHalf && range_.groups(1) <= kMaxInHalf;
    bits_ |= static_cast<std::uint32_t>(range_.groups(0) | range_.groups(1) << kHalf);
    return fits && range_.offset[0] == 0 && range_.offset[1] == 0;
  }
  const unsigned d = cut_dims == 1 ? 0 : 1;
  const std::size_t groups = range_.groups(d);
  bits_ |= static_cast<std::uint32_t>(groups);
  if (groups <= kMaxInHalf) {
    bits_ |= kWithFirst;
    first_group_dim_ = d;
    return true;
  }
  return groups <= kMaxInAll && range_.offset[d] == 0;
}

std::size_t Tag::offset(const Slice& box) const {
  std::uint32_t bits = bits_;
  if (first_group_dim_ < 3) {
    const std::size_t before =
        (box.offset[first_group_dim_] - range_.offset[first_group_dim_]) / range_.local[first_group_dim_];
    bits |= static_cast<std::uint32_t>(before << kHalf);
  }
  return ~std::size_t{UINT32_MAX} | bits;
}

}  // namespace cleave::plan
