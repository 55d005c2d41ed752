#include "tests/sim/driver/commands/launch_shape.h"

#include <algorithm>
#include <string_view>

#include "tests/sim/driver/core/driver_state.h"
#include "tests/sim/driver/options.h"

namespace cleave::sim {
namespace {

bool may_be_non_uniform(const Kernel& kernel) {
  return kernel.state.options.non_uniform &&
         kernel.program->options.find("-cl-uniform-work-group-size") == std::string::npos;
}

std::size_t largest_global_id(const Options& options) {
  return options.address_bits >= 64 ? ~std::size_t{0} : (std::size_t{1} << options.address_bits) - 1;
}

// Global ids run from offset to offset + global - 1 and must fit the device's size_t.
void read_global(Launch& shape, const Options& options, const RangeArguments& range) {
  require(range.dims >= 1 && range.dims <= 3, CL_INVALID_WORK_DIMENSION);
  const std::size_t largest = largest_global_id(options);
  shape.work_dim = range.dims;
  for (cl_uint d = 0; d < range.dims; ++d) {
    const std::size_t size = range.global == nullptr ? 0 : range.global[d];
    require(size > 0 || options.zero_global_size, CL_INVALID_GLOBAL_WORK_SIZE);
    require(size <= largest, CL_INVALID_GLOBAL_WORK_SIZE);
    shape.global[d] = size;
  }
  for (cl_uint d = 0; range.offset != nullptr && d < range.dims; ++d) {
    const std::size_t beyond_first = std::max(shape.global[d], std::size_t{1}) - 1;
    require(range.offset[d] <= largest - beyond_first, CL_INVALID_GLOBAL_OFFSET);
    shape.offset[d] = range.offset[d];
  }
}

void read_local(Launch& shape, const Kernel& kernel, const std::size_t* local) {
  const Options& options = kernel.state.options;
  std::size_t items = 1;
  for (cl_uint d = 0; d < shape.work_dim; ++d) {
    require(local[d] > 0, CL_INVALID_WORK_GROUP_SIZE);
    require(local[d] <= options.max_work_item_sizes[d], CL_INVALID_WORK_ITEM_SIZE);
    items *= local[d];
    shape.local[d] = local[d];
  }
  require(items <= options.max_work_group_size, CL_INVALID_WORK_GROUP_SIZE);
  const auto& required = kernel.signature.required_size;
  require(!required || *required == shape.local, CL_INVALID_WORK_GROUP_SIZE);
  for (std::size_t d = 0; d < 3; ++d) {
    const bool even = shape.global[d] % shape.local[d] == 0;
    require(even || may_be_non_uniform(kernel), CL_INVALID_WORK_GROUP_SIZE);
  }
}

void choose_local(Launch& shape, const Kernel& kernel) {
  const Options& options = kernel.state.options;
  const std::size_t global = std::max(shape.global[0], std::size_t{1});
  const std::size_t limit =
      std::min({std::size_t{64}, options.max_work_group_size, options.max_work_item_sizes[0], global});
  std::size_t local = limit;
  while (global % local != 0) --local;
  shape.local[0] = local < 8 && may_be_non_uniform(kernel) ? limit : local;
}

}  // namespace

Launch launch_shape(const Kernel& kernel, const RangeArguments& range, ReqdWithNull null_rule) {
  Launch shape;
  read_global(shape, kernel.state.options, range);
  const auto& required = kernel.signature.required_size;
  shape.null_local = range.local == nullptr;
  if (range.local != nullptr) {
    read_local(shape, kernel, range.local);
  } else if (required) {
    require(null_rule == ReqdWithNull::uses_it, CL_INVALID_WORK_GROUP_SIZE);
    read_local(shape, kernel, required->data());
  } else {
    choose_local(shape, kernel);
  }
  return shape;
}

}  // namespace cleave::sim
