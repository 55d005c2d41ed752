#include "launch_shapes.h"

#include <algorithm>

namespace fuzz {

namespace {

const std::vector<Sizes> kLines = {{1, 1, 1}, {8, 1, 1}, {16, 1, 1}, {5, 1, 1}, {32, 1, 1}};
const std::vector<Sizes> kPlanes = {{4, 4, 1}, {8, 2, 1}, {3, 5, 1}, {1, 7, 1}};
const std::vector<Sizes> kBoxes = {{2, 2, 2}, {4, 2, 3}, {3, 1, 2}, {1, 1, 4}};
const std::vector<std::size_t> kGroups = {1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 64, 257};

std::string words(const Sizes& sizes, cl_uint dims) {
  std::string text;
  for (cl_uint dim = 0; dim < dims; ++dim) text += (dim == 0 ? "{" : ", ") + std::to_string(sizes[dim]);
  return text + "}";
}

cl_uint least_dims(const Sizes& local) { return local[2] > 1 ? 3 : local[1] > 1 ? 2 : 1; }

}  // namespace

std::string Shape::text() const {
  return std::to_string(dims) + ", " + (with_offset ? words(offset, dims) : "NULL") + ", " +
         words(global, dims) + ", " + (with_local ? words(local, dims) : "NULL");
}

Shapes::Shapes(Random random, const Capabilities& capabilities, const Options& options)
    : capabilities_(capabilities),
      most_items_(options.most_items),
      most_groups_(options.most_groups),
      far_(options.without.count("far-offset") == 0) {
  const std::vector<Sizes>* kinds[] = {&kLines, &kPlanes, &kBoxes};
  const unsigned first = random.below(3);
  for (unsigned count = 0; count < options.local_sizes; ++count)
    local_.push_back(random.one_of(*kinds[(first + count) % 3]));
  for (int count = 0; count < 2; ++count) {
    Shape shape;
    shape.local = random.one_of(local_);
    size(random, shape);
    if (random.chance(50)) displace(random, shape);
    shape.with_local = false;
    open_.push_back(shape);
  }
}

Shape Shapes::one(Random& random, const KernelSpec& kernel) const {
  // A driver may choose any size, unless it suggests one or follows a rule. Then it has to be the same for every slice.
  const bool open = capabilities_.known_local_sizes || !kernel.depends_on_grouping || kernel.size_required;
  if (open && random.chance(kernel.depends_on_grouping ? 10 : 50)) return random.one_of(open_);
  Shape shape;
  // A kernel that requires a size fails with any other, which is tried occasionally.
  shape.local = kernel.size_required && !random.chance(5) ? kernel.required : random.one_of(local_);
  size(random, shape);
  displace(random, shape);
  return shape;
}

void Shapes::size(Random& random, Shape& shape) const {
  shape.dims = random.between(least_dims(shape.local), 3);
  const bool flat = random.chance(25);  // more dimensions than the launch needs
  shape.global = shape.local;
  for (cl_uint dim = 0; dim < shape.dims; ++dim) {
    const std::size_t room = std::max<std::size_t>(most_items_ / shape.items(), 1);
    const std::size_t groups = flat && dim >= least_dims(shape.local) ? 1 : random.one_of(kGroups);
    shape.global[dim] *= std::min({groups, room, most_groups_});
  }
  const cl_uint dim = random.below(shape.dims);
  const std::size_t more = random.below(shape.local[dim]);  // an incomplete work-group
  if (random.chance(capabilities_.uneven ? 15 : 3)) shape.global[dim] += more;
}

void Shapes::displace(Random& random, Shape& shape) const {
  shape.with_offset = random.chance(40);
  if (!shape.with_offset) return;
  for (cl_uint dim = 0; dim < shape.dims; ++dim) {
    const unsigned kind = random.below(100);
    shape.offset[dim] = kind < 40   ? 0
                        : kind < 75 ? random.below(50)
                        : kind < 95 ? random.below(100000)
                        : kind < 98 ? 0x40000000U + random.below(0x3fff0000U)
                                    : 0x7ffffff0U + random.below(32);
    if (!far_) shape.offset[dim] %= 60000;
  }
  // A value that Cleave might mistake for one of its marks.
  if (shape.dims == 3 && shape.global[2] == 1 && random.chance(30))
    shape.offset[2] = random.below(far_ ? 0x7fffffffU : 60000U);
}

}  // namespace fuzz
