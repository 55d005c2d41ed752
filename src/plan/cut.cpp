#include "plan/cut.h"

#include <algorithm>
#include <limits>

namespace cleave::plan {
namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::size_t product(std::size_t a, std::size_t b) { return (a != 0 && b > kMost / a) ? kMost : a * b; }

// One of `parts` shares of `total`: the first `total % parts` of them are one larger than the others.
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

}  // namespace

std::size_t items(const Extent& global) { return product(product(global[0], global[1]), global[2]); }

Cut::Cut(const NDRange& range, std::size_t wanted) : range_(range), groups_{1, 1, 1} {
  for (unsigned d = 0; d < range.dims; ++d) groups_[d] = range.groups(d);
  count_ = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(items(groups_), 1));
}

Slice Cut::slice(std::size_t index) const {
  Slice slice{range_.offset, range_.global};
  std::size_t parts = count_;
  for (unsigned d = range_.dims; d-- > 0 && parts > 1;) {
    Share taken{};
    if (parts <= groups_[d]) {
      taken = share(groups_[d], parts, index);
      parts = 1;
    } else {  // a layer of its own; `parts` and `index` now count within the layer
      const std::size_t layer = holder(parts, groups_[d], index);
      const Share within = share(parts, groups_[d], layer);
      taken = {layer, 1};
      parts = within.size;
      index -= within.first;
    }
    take(slice, d, taken.first, taken.size);
  }
  return slice;
}

Rest Cut::rest(std::size_t index) const {
  Rest rest;
  // `layer` is the box that holds what is looked at: at first the launch, then one layer of it, and so on
  // inwards.
  Slice layer{range_.offset, range_.global};
  std::size_t parts = count_;
  for (unsigned d = range_.dims; d-- > 0 && parts > 1;) {
    Slice after = layer;
    if (parts <= groups_[d]) {
      const std::size_t first = share(groups_[d], parts, index).first;
      take(after, d, first, groups_[d] - first);
      rest.boxes[rest.count++] = after;
      std::reverse(rest.boxes.begin(), rest.boxes.begin() + rest.count);
      return rest;
    }
    const std::size_t at = holder(parts, groups_[d], index);
    const Share within = share(parts, groups_[d], at);
    take(layer, d, at, 1);
    parts = within.size;
    index -= within.first;
    const bool begins_layer = index == 0;
    const std::size_t first = begins_layer ? at : at + 1;
    if (first < groups_[d]) {
      take(after, d, first, groups_[d] - first);
      rest.boxes[rest.count++] = after;
    }
    if (begins_layer) {
      std::reverse(rest.boxes.begin(), rest.boxes.begin() + rest.count);
      return rest;
    }
  }
  rest.boxes[rest.count++] = layer;
  std::reverse(rest.boxes.begin(), rest.boxes.begin() + rest.count);
  return rest;
}

void Cut::take(Slice& box, unsigned d, std::size_t first, std::size_t size) const {
  const std::size_t begin = first * range_.local[d];
  box.offset[d] = range_.offset[d] + begin;
  box.global[d] = first + size == groups_[d] ? range_.global[d] - begin : size * range_.local[d];
}

bool Cut::cuts(unsigned d) const {
  std::size_t parts = count_;
  for (unsigned outer = range_.dims; outer-- > d + 1 && parts > 1;) {
    parts = parts <= groups_[outer] ? 1 : parts / groups_[outer] + (parts % groups_[outer] != 0 ? 1 : 0);
  }
  return d < range_.dims && parts > 1 && groups_[d] > 1;
}

Cut::Uneven Cut::uneven() const {
  Uneven found = Uneven::none;
  std::size_t parts = count_;
  for (unsigned d = range_.dims; d-- > 0 && parts > 1;) {
    if (groups_[d] > 1 && range_.uneven(d)) {
      if (parts > groups_[d] / 2) return Uneven::alone;  // the last slab, or layer, is one group thick
      found = Uneven::with_others;
    }
    parts = parts <= groups_[d] ? 1 : parts / groups_[d] + (parts % groups_[d] != 0 ? 1 : 0);
  }
  return found;
}

}  // namespace cleave::plan
