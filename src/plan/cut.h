// Divides one launch into slices. Nothing here calls OpenCL or allocates.
//
// Source: "GPGPU task management ... virtual machines", Algorithm 1: VMs × α groups of equal size, and the remainder.
// Here the remainder is spread over the first slices, one unit each, so that slices differ little in size. Cuts are
// made between work-groups only, where the paper cuts between threads.
//
// The outermost dimension with more than one work-group is cut into slabs. If it has fewer groups than slices are
// wanted, it is cut into bands, and each band is cut along the next dimension inwards, and so on: slices are then
// boxes. The thickness of a band depends on the order that the kernel requires:
//
//   ascending  One group, so that in linear work-group id all groups of a slice follow all groups of the slices
//              before it. A group that reads results of earlier groups then finds them complete.
//   any        The thickness that makes the boxes most equal. With ascending order, the slices of some layers may be
//              twice as large as those of others: 320 layers in 500 slices are 140 of 320 groups and 360 of 160,
//              where bands give 500 of 203 to 216.
//
// Thread-safe: all functions are pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "plan/ndrange.h"

namespace cleave::plan {

// The order in which the kernel requires its work-groups to run.
enum class Order : std::uint8_t { ascending, any };

// The part of a launch from some slice on, as the fewest boxes. In ascending linear group id if the slices are.
struct Remainder {
  std::array<Slice, 3> boxes{};
  unsigned count = 0;  // 1 to 3
};

// Some consecutive slices that together are one box.
struct SliceRun {
  Slice box;
  std::size_t slices = 1;
};

// How a launch is cut. Slices are computed on demand, so a plan of a million slices costs nothing.
class Cut {
 public:
  // Cuts `range` into `wanted_slices` slices, or one per work-group if the launch has fewer.
  // Requires: local sizes are explicit and not 0; `wanted_slices` is at least 1.
  Cut(const NDRange& range, std::size_t wanted_slices, Order order = Order::ascending);

  // The number of slices, at least 1. With 1 the launch is not cut.
  [[nodiscard]] std::size_t count() const { return count_; }

  // Slice `index` of `count()`. The slices cover every work-group of the launch exactly once, in the required order.
  // Along a dimension that is cut, two slabs or bands differ by at most one group, larger ones first. One band is cut
  // into at most one slice more than another.
  [[nodiscard]] Slice slice(std::size_t index) const;

  // As many of the slices from `index` of `count()` on as form one box: at most `most`, and at least 1. In the required order.
  [[nodiscard]] SliceRun run(std::size_t index, std::size_t most) const;

  // The same for callers that take all runs one after the other, with little work: `run` becomes the one from `index`
  // on. Requires: it is the one before, or `index` is 0.
  void advance(SliceRun& run, std::size_t index, std::size_t most) const {
    if (index == 0 || most != 1 || slabs_.dimension == 3) {
      run = this->run(index, most);
      return;
    }
    std::size_t& offset = run.box.offset[slabs_.dimension];
    std::size_t& size = run.box.global[slabs_.dimension];
    offset += size;
    size = index + 1 == count_ ? slabs_.end - offset : slabs_.items[index < slabs_.larger ? 1 : 0];
    run.slices = 1;
  }

  // Whether two slices differ in dimension `d`.
  [[nodiscard]] bool cuts_dimension(unsigned d) const;

  // Everything from slice `index` of `count()` on.
  [[nodiscard]] Remainder remainder(std::size_t index) const;

  // What happens to a last, smaller work-group in a dimension that is cut: there is none, it shares its slice with
  // full groups, or it is a slice of its own. A driver that accepts the whole launch accepts the first two; it may
  // refuse a launch that is smaller than its own work-group.
  enum class SmallerGroup : std::uint8_t { none, shared_slice, alone };
  [[nodiscard]] SmallerGroup uneven() const;

 private:
  // The number of bands in dimension `d` for a box that becomes `parts` slices and has all its groups in `d` and the
  // inner dimensions. At most its groups in `d`.
  [[nodiscard]] std::size_t bands(unsigned d, std::size_t parts) const;
  [[nodiscard]] std::size_t most_even_bands(unsigned d, std::size_t parts) const;
  // Computes most_even_bands() for every argument that bands() will be called with.
  void precompute_bands();

  // The fewest and the most slices that boxes of one kind become.
  using Parts = std::array<std::size_t, 2>;
  // The same for the bands of such boxes in dimension `d`.
  [[nodiscard]] Parts parts_per_band(unsigned d, const Parts& parts) const;

  // Limits dimension `d` of `box` to `size` groups, from group `first` of the launch on.
  void set_groups(Slice& box, unsigned d, std::size_t first, std::size_t size) const;

  // The slabs of the only dimension that is cut, which run() finds without a division.
  struct Slabs {
    unsigned dimension = 3;              // 3: another one is cut as well
    std::size_t base = 0;                // groups of a slab, and
    std::size_t larger = 0;              // how many of the first ones have one more
    std::array<std::size_t, 2> items{};  // of a slab, and of a larger one
    std::size_t end = 0;                 // of the launch

    [[nodiscard]] std::size_t first_group(std::size_t index) const {
      return index * base + (index < larger ? index : larger);
    }
  };
  void find_slabs();

  NDRange range_;
  Extent groups_;
  std::size_t count_;
  Slabs slabs_;
  // Bands of the outermost dimension that has too few groups, and of the next one for either number of slices that a
  // band of the former may have. slice() only looks them up.
  struct Bands {
    unsigned dimension = 3;
    std::size_t parts = 0;
    std::size_t bands = 0;
  };
  std::array<Bands, 3> bands_{};
};

}  // namespace cleave::plan
