// The arithmetic of cutting one launch into slices. Nothing here calls OpenCL or allocates.
//
// Source: "GPGPU task management ... virtual machines", Algorithm 1: VMs × α groups of equal size, and the
// remainder. The remainder is spread over the first slices here, one unit each, so that no slice is much
// smaller or larger. Cuts are made between work-groups only, where the paper cuts between threads.
//
// Cuts go from the outside in. The outermost dimension with more than one group is cut into slabs. If it has
// fewer groups than slices are wanted, it is cut into bands, and each band by itself along the next
// dimension, and so on: the slices are then boxes. How thick the bands are depends on the order that is asked
// for:
//   ascending  one group, so that all groups of a slice come after all groups of the slices before it, in
//              linear work-group id. A group that looks back at earlier groups then finds them done.
//   any        as thick as makes the boxes most alike. With ascending order, the slices of some layers may be
//              twice as large as those of others: 320 layers in 500 slices are 140 of 320 groups and 360 of
//              160, where bands give 500 of 203 to 216.
//
// Thread-safe: all functions are pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "plan/ndrange.h"

namespace cleave::plan {

// In which order the work-groups may run, seen from the kernel.
enum class Order : std::uint8_t { ascending, any };

// What is left of a launch from some slice on, as the fewest boxes. In ascending linear group id, where the
// slices are.
struct Remainder {
  std::array<Slice, 3> boxes{};
  unsigned count = 0;  // 1 to 3
};

// How a launch is cut: a value that computes each slice when asked, so that a plan of a million slices costs
// nothing.
class Cut {
 public:
  // Cuts `range` into at most `wanted_slices` slices: exactly `wanted_slices` where the launch has as many work-groups,
  // else one for each group. Requires: local sizes are explicit and not 0; `wanted_slices` is at least 1.
  Cut(const NDRange& range, std::size_t wanted_slices, Order order = Order::ascending);

  // How many slices there are, at least 1. With 1 the launch stays whole.
  [[nodiscard]] std::size_t count() const { return count_; }

  // Slice `index` of `count()`. The slices cover every work-group of the launch once, in the order asked for.
  // Along a dimension that is cut, the sizes of two slabs, or bands, differ by at most one group, the larger
  // ones first. Of two bands, one is cut into at most one slice more than the other.
  [[nodiscard]] Slice slice(std::size_t index) const;

  // Whether any two slices differ in dimension `d`.
  [[nodiscard]] bool cuts_dimension(unsigned d) const;

  // Everything from slice `index` of `count()` on.
  [[nodiscard]] Remainder remainder(std::size_t index) const;

  // What becomes of a last, smaller group in a dimension that is cut: there is none, it shares its slice with
  // full groups, or it is launched alone. A driver that accepts the whole launch accepts the first two for
  // sure: a launch that is smaller than its own work-group is another matter.
  enum class SmallerGroup : std::uint8_t { none, shared_slice, alone };
  [[nodiscard]] SmallerGroup uneven() const;

 private:
  // Into how many bands dimension `d` of a box is cut that is to become `parts` slices and still has all its
  // groups in `d` and in those further inside. No more than its groups.
  [[nodiscard]] std::size_t bands(unsigned d, std::size_t parts) const;
  [[nodiscard]] std::size_t most_even_bands(unsigned d, std::size_t parts) const;
  // Reckons most_even_bands() beforehand, for all that bands() will be asked.
  void precompute_bands();

  // The fewest and the most slices that boxes of a kind become.
  using Parts = std::array<std::size_t, 2>;
  // The same for the bands that dimension `d` of such boxes is cut into.
  [[nodiscard]] Parts parts_per_band(unsigned d, const Parts& parts) const;

  // Narrows dimension `d` of `box` to `size` groups from group `first` of the launch on.
  void set_groups(Slice& box, unsigned d, std::size_t first, std::size_t size) const;

  NDRange range_;
  Extent groups_;
  std::size_t count_;
  // Bands of the outermost dimension that has too few groups, and of the next for either number of slices
  // that a band of the former may have. Nothing is searched for when a slice is asked for.
  struct Bands {
    unsigned dimension = 3;
    std::size_t parts = 0;
    std::size_t bands = 0;
  };
  std::array<Bands, 3> bands_{};
};

}  // namespace cleave::plan
