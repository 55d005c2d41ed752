#include "plan/tag.h"

#include <array>
#include <bit>
#include <cassert>

namespace cleave::plan {
namespace {

constexpr std::uint32_t kIsTag = std::uint32_t{1} << 31U;
constexpr unsigned kDims = 29;
constexpr std::uint32_t kWithFirst = std::uint32_t{1} << 28U;
constexpr unsigned kCutDims = 26;
constexpr unsigned kHalf = 13;

// By the number of dimensions that are cut: the bits of an id in the third dimension of a volume, and of each number of
// work-groups.
constexpr std::array<unsigned, 4> kIdBits{0, 13, 10, 8};
constexpr std::array<unsigned, 4> kGroupBits{0, 13, 8, 6};

bool fits(std::size_t value, unsigned bits) { return value < std::size_t{1} << bits; }

}  // namespace

bool is_flat(const NDRange& range) {
  return range.dims < 3 || (range.global[2] == 1 && range.offset[2] == 0);
}

std::optional<Tag> Tag::of(const NDRange& range, const Cut& cut) {
  assert(cut.count() >= 2);
  unsigned cut_dims = 0;
  for (unsigned d = 0; d < range.dims; ++d) {
    if (!cut.cuts_dimension(d)) continue;
    if (range.uneven(d)) return std::nullopt;
    cut_dims |= 1U << d;
  }
  Tag tag(range);
  if (!(is_flat(range) ? tag.encode_flat(cut_dims) : tag.encode_volume(cut_dims))) return std::nullopt;
  return tag;
}

bool Tag::encode_flat(unsigned cut_dims) {
  bits_ = kIsTag | (range_.dims << kDims) | (cut_dims << kCutDims);
  if (cut_dims == 3) {
    bits_ |= static_cast<std::uint32_t>(range_.groups(0) | range_.groups(1) << kHalf);
    return fits(range_.groups(0), kHalf) && fits(range_.groups(1), kHalf) && range_.offset[0] == 0 &&
           range_.offset[1] == 0;
  }
  const unsigned d = cut_dims == 1 ? 0 : 1;
  const std::size_t groups = range_.groups(d);
  bits_ |= static_cast<std::uint32_t>(groups);
  if (fits(groups, kHalf)) {
    bits_ |= kWithFirst;
    first_group_dim_ = d;
    return true;
  }
  return fits(groups, kCutDims) && range_.offset[d] == 0;
}

bool Tag::encode_volume(unsigned cut_dims) {
  const auto cuts = static_cast<unsigned>(std::popcount(cut_dims));
  unsigned at = kIdBits[cuts];
  // The prelude computes the offset of the third dimension from a work-group's size there.
  if (range_.uneven(2) || !fits(range_.offset[2], at) || !fits(range_.offset[2] + range_.global[2] - 1, at))
    return false;
  bits_ = kIsTag | (cut_dims << kCutDims);
  for (unsigned d = 0; d < 3; ++d) {
    if (((cut_dims >> d) & 1U) == 0) continue;
    const std::size_t groups = range_.groups(d);
    if (range_.offset[d] != 0 || !fits(groups, kGroupBits[cuts])) return false;
    bits_ |= static_cast<std::uint32_t>(groups << at);
    at += kGroupBits[cuts];
  }
  return true;
}

std::size_t Tag::offset(const Slice& box) const {
  std::uint32_t bits = bits_;
  if (!is_flat(range_)) bits |= static_cast<std::uint32_t>(box.offset[2]);
  if (first_group_dim_ < 3) {
    const std::size_t before =
        (box.offset[first_group_dim_] - range_.offset[first_group_dim_]) / range_.local[first_group_dim_];
    bits |= static_cast<std::uint32_t>(before << kHalf);
  }
  return ~std::size_t{UINT32_MAX} | bits;
}

std::size_t Tag::begin(std::size_t offset) {
  constexpr std::size_t kUpper = ~std::size_t{UINT32_MAX} | kIsTag;
  if ((offset & kUpper) != kUpper) return offset;
  if (((offset >> kDims) & 3U) != 0) return 0;
  const auto cuts = static_cast<unsigned>(std::popcount((offset >> kCutDims) & 7U));
  return offset & ((std::size_t{1} << kIdBits[cuts]) - 1);
}

}  // namespace cleave::plan
