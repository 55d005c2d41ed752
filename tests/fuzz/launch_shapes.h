// The sizes of launches.
#pragma once

#include <CL/cl.h>

#include <string>
#include <vector>

#include "options.h"
#include "program_text.h"
#include "random.h"

namespace fuzz {

struct Shape {
  cl_uint dims = 1;
  bool with_offset = false;
  bool with_local = true;
  Sizes offset = {0, 0, 0};
  Sizes global = {1, 1, 1};
  Sizes local = {1, 1, 1};

  std::size_t items() const { return global[0] * global[1] * global[2]; }
  const std::size_t* offset_or_null() const { return with_offset ? offset.data() : nullptr; }
  const std::size_t* local_or_null() const { return with_local ? local.data() : nullptr; }
  std::string text() const;
};

// Drivers compile a kernel for each local size, so a program is launched with few of them, but in many shapes.
class Shapes {
 public:
  Shapes(Random random, const Capabilities& capabilities, const Options& options);
  Shape one(Random& random, const KernelSpec& kernel) const;

 private:
  void size(Random& random, Shape& shape) const;
  void displace(Random& random, Shape& shape) const;

  const Capabilities& capabilities_;
  std::size_t most_items_;
  std::size_t most_groups_;
  bool far_;  // offsets that need more than 16 bits as well
  std::vector<Sizes> local_;
  std::vector<Shape> open_;  // without a local size
};

}  // namespace fuzz
