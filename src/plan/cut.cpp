#include "plan/cut.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace cleave::plan {
namespace {

constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();

std::size_t product(std::size_t a, std::size_t b) { return (a != 0 && b > kMax / a) ? kMax : a * b; }

// One of `parts` shares of `total`: the first `total % parts` of them are larger by one.
struct Share {
  std::size_t first;
  std::size_t size;
};

Share share(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t base = total / parts;
  const std::size_t larger = total % parts;
  return {index * base + std::min(index, larger), base + (index < larger ? 1 : 0)};
}

// The inverse of share(): which of `parts` shares of `total` holds position `at`.
std::size_t holder(std::size_t total, std::size_t parts, std::size_t at) {
  const std::size_t base = total / parts;
  const std::size_t larger = total % parts;
  const std::size_t boundary = larger * (base + 1);
  return at < boundary ? at / (base + 1) : larger + (at - boundary) / base;
}

// The difference between the largest and the smallest box, in groups, if `total` layers of `across` groups are cut
// into `number` bands and these into `parts` boxes altogether.
std::size_t spread(std::size_t total, std::size_t across, std::size_t number, std::size_t parts) {
  std::size_t least = kMax;
  std::size_t most = 0;
  // Thicker bands come first, and so do those with one box more, so that only these bands can differ.
  for (const std::size_t band : {std::size_t{0}, total % number, parts % number, number - 1}) {
    if (band >= number) continue;
    const std::size_t thickness = share(total, number, band).size;
    const std::size_t boxes = share(parts, number, band).size;
    const std::size_t smallest = across / boxes;
    const std::size_t largest = smallest + (across % boxes != 0 ? 1 : 0);
    least = std::min(least, product(thickness, smallest));
    most = std::max(most, product(thickness, largest));
  }
  return most - least;
}

}  // namespace

std::size_t items(const Extent& global) { return product(product(global[0], global[1]), global[2]); }

std::size_t NDRange::total_groups() const {
  Extent groups{1, 1, 1};
  for (unsigned d = 0; d < dims; ++d) groups[d] = this->groups(d);
  return items(groups);
}

Cut::Cut(const NDRange& range, std::size_t wanted_slices, Order order) : range_(range), groups_{1, 1, 1} {
  assert(wanted_slices >= 1);
  for (unsigned d = 0; d < range.dims; ++d) groups_[d] = range.groups(d);
  count_ = std::clamp<std::size_t>(wanted_slices, 1, std::max<std::size_t>(items(groups_), 1));
  find_slabs();
  if (order == Order::any) precompute_bands();
}

void Cut::find_slabs() {
  unsigned d = range_.dims;
  while (d > 0 && groups_[d - 1] == 1) --d;
  if (d == 0 || count_ > groups_[d - 1]) return;
  slabs_.dimension = --d;
  slabs_.base = groups_[d] / count_;
  slabs_.larger = groups_[d] % count_;
  slabs_.items = {slabs_.base * range_.local[d], (slabs_.base + 1) * range_.local[d]};
  slabs_.end = range_.offset[d] + range_.global[d];
}

void Cut::precompute_bands() {
  std::size_t found = 0;
  Parts parts{count_, count_};
  for (unsigned d = range_.dims; d-- > 1 && parts[1] > 1;) {
    for (const std::size_t each : parts) {
      const bool known = found > 0 && bands_[found - 1].dimension == d && bands_[found - 1].parts == each;
      if (each > groups_[d] && groups_[d] > 1 && !known)
        bands_[found++] = {d, each, most_even_bands(d, each)};
    }
    parts = parts_per_band(d, parts);
  }
}

Cut::Parts Cut::parts_per_band(unsigned d, const Parts& parts) const {
  Parts inner{kMax, 1};
  for (const std::size_t each : parts) {
    const std::size_t number = bands(d, each);
    inner[0] = std::min(inner[0], each / number);
    inner[1] = std::max(inner[1], each / number + (each % number != 0 ? 1 : 0));
  }
  return inner;
}

std::size_t Cut::bands(unsigned d, std::size_t parts) const {
  if (parts <= groups_[d]) return parts;
  for (const Bands& known : bands_) {
    if (known.dimension == d && known.parts == parts) return known.bands;
  }
  return groups_[d];
}

// Tries bands of one group's thickness, of two, and so on. Thicker bands have more slices each, so one slice more or
// less matters little; but their boxes are narrower, so one group more or less matters more.
std::size_t Cut::most_even_bands(unsigned d, std::size_t parts) const {
  constexpr std::size_t kThickest = 32;
  std::size_t across = 1;  // groups of a band of thickness 1
  for (unsigned inner = 0; inner < d; ++inner) across = product(across, groups_[inner]);
  std::size_t best = groups_[d];
  std::size_t least = kMax;
  for (std::size_t thickness = 1; thickness <= std::min(groups_[d], kThickest) && least != 0; ++thickness) {
    const std::size_t number = groups_[d] / thickness;
    if (parts / number >= across) break;  // a band would have more slices than groups across
    const std::size_t difference = spread(groups_[d], across, number, parts);
    if (difference < least) {
      least = difference;
      best = number;
    }
  }
  return best;
}

Slice Cut::slice(std::size_t index) const { return run(index, 1).box; }

// Slices are side by side in one dimension only, the innermost in which their band is cut.
SliceRun Cut::run(std::size_t index, std::size_t most) const {
  assert(index < count_);
  SliceRun run{{range_.offset, range_.global}, 1};
  if (slabs_.dimension < 3) {
    run.slices = std::clamp<std::size_t>(most, 1, count_ - index);
    const std::size_t first = slabs_.first_group(index);
    set_groups(run.box, slabs_.dimension, first, slabs_.first_group(index + run.slices) - first);
    return run;
  }
  std::size_t parts = count_;
  for (unsigned d = range_.dims; d-- > 0 && parts > 1;) {
    const std::size_t number = bands(d, parts);
    const std::size_t band = holder(parts, number, index);
    const Share taken = share(groups_[d], number, band);
    const Share inner = share(parts, number, band);
    if (number == parts) {  // each band is a slice
      run.slices = std::clamp<std::size_t>(most, 1, number - band);
      const Share last = share(groups_[d], number, band + run.slices - 1);
      set_groups(run.box, d, taken.first, last.first + last.size - taken.first);
      return run;
    }
    parts = inner.size;  // `parts` and `index` now count within the band
    index -= inner.first;
    set_groups(run.box, d, taken.first, taken.size);
  }
  return run;
}

Remainder Cut::remainder(std::size_t index) const {
  Remainder remainder;
  // The box that holds the slice: first the launch, then one band of it, and so on inwards.
  Slice box{range_.offset, range_.global};
  std::size_t parts = count_;
  bool begins = false;  // the slice is the first of `box`
  for (unsigned d = range_.dims; d-- > 0 && parts > 1 && !begins;) {
    const std::size_t number = bands(d, parts);
    const std::size_t band = holder(parts, number, index);
    const Share taken = share(groups_[d], number, band);
    const Share inner = share(parts, number, band);
    parts = inner.size;
    index -= inner.first;
    begins = index == 0;
    const std::size_t first = begins ? taken.first : taken.first + taken.size;
    if (first < groups_[d]) {
      Slice after = box;
      set_groups(after, d, first, groups_[d] - first);
      remainder.boxes[remainder.count++] = after;
    }
    set_groups(box, d, taken.first, taken.size);
  }
  if (remainder.count == 0) remainder.boxes[remainder.count++] = box;
  std::reverse(remainder.boxes.begin(), remainder.boxes.begin() + remainder.count);
  return remainder;
}

void Cut::set_groups(Slice& box, unsigned d, std::size_t first, std::size_t size) const {
  const std::size_t begin = first * range_.local[d];
  box.offset[d] = range_.offset[d] + begin;
  box.global[d] = first + size == groups_[d] ? range_.global[d] - begin : size * range_.local[d];
}

bool Cut::cuts_dimension(unsigned d) const {
  if (d >= range_.dims) return false;
  Parts parts{count_, count_};
  for (unsigned outer = range_.dims; outer-- > d + 1;) parts = parts_per_band(outer, parts);
  return bands(d, parts[0]) > 1 || bands(d, parts[1]) > 1;
}

Cut::SmallerGroup Cut::uneven() const {
  SmallerGroup found = SmallerGroup::none;
  Parts parts{count_, count_};
  for (unsigned d = range_.dims; d-- > 0; parts = parts_per_band(d, parts)) {
    const std::size_t number = std::max(bands(d, parts[0]), bands(d, parts[1]));
    if (number < 2 || !range_.uneven(d)) continue;
    if (number > groups_[d] / 2) return SmallerGroup::alone;  // the last slab, or band, is one group thick
    found = SmallerGroup::shared_slice;
  }
  return found;
}

}  // namespace cleave::plan
