// The kernels that are launched unsplit and in slices: their sizes, input and expected results. Nothing here calls OpenCL:
// bench/gpu launches them.
//
// Each is a kernel "work" of three arguments: the input, the output and the columns of the grid. The input is
// a formula (input.h), so that any word of a result can be computed again on the host.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace kernels {

struct Grid {
  std::size_t x;
  std::size_t y;
};

struct Work {
  std::string_view name;
  const char* source;
  unsigned dims;
  Grid global;
  Grid small;  // on a processor, and for a try
  Grid local;
  bool floats;  // the input and the output; else unsigned numbers
  std::size_t (*in_words)(Grid global);
  std::size_t (*out_words)(Grid global);
  // The expected word of the output; exact unless a tolerance is given.
  double (*expected)(Grid global, std::size_t index);
  double tolerance;
};

extern const Work kProduct;      // the paper's matrix product, tile by tile
extern const Work kLongProduct;  // the same, larger
extern const Work kStencil;      // nothing but memory: five loads and a store
extern const Work kBodies;       // everything pulls at everything
extern const Work kMandelbrot;   // nothing but arithmetic, of lengths that differ from item to item
extern const Work
    kReduction;  // a partial sum by work-group. Its result depends on get_group_id, so it needs the prelude
extern const Work kScan;       // sums up to each element within its work-group
extern const Work kHistogram;  // atomics in local and global memory: never on several queues at once
extern const Work kSortStep;   // one step of a bitonic sort
extern const Work kEmpty;      // nothing: what a launch itself costs

inline const std::array<const Work*, 10> kWorks = {&kProduct,   &kStencil,    &kBodies,    &kMandelbrot,
                                                   &kReduction, &kScan,       &kHistogram, &kSortStep,
                                                   &kEmpty,     &kLongProduct};

// The work of that name. Throws std::invalid_argument if there is none.
const Work& find(std::string_view name);

// Whether this word of the output is within the tolerance.
bool right(const Work& work, Grid global, std::size_t index, unsigned word);

}  // namespace kernels
