#include "tests/sim/driver/execution.h"

#include <algorithm>
#include <utility>

namespace cleave::sim {
namespace {

std::size_t linear(const Size3& id, const Size3& size) { return (id[2] * size[1] + id[1]) * size[0] + id[0]; }

template <class Visit>
void for_each_of(const Size3& size, Visit visit) {
  Size3 id{};
  for (id[2] = 0; id[2] < size[2]; ++id[2]) {
    for (id[1] = 0; id[1] < size[1]; ++id[1]) {
      for (id[0] = 0; id[0] < size[0]; ++id[0]) visit(id);
    }
  }
}

}  // namespace

Execution::Execution(const Launch& launch, const Size3& offset, std::vector<Storage> storage)
    : launch_(launch), offset_(offset), storage_(std::move(storage)) {}

Size3 Execution::num_groups() const {
  Size3 groups{};
  for (std::size_t d = 0; d < 3; ++d) {
    groups[d] = (launch_.global[d] + launch_.local[d] - 1) / launch_.local[d];
  }
  return groups;
}

Execution::Storage Execution::storage(std::size_t index) const {
  const Argument::Kind kind = argument(index).kind;
  if (kind != Argument::Kind::memory && kind != Argument::Kind::svm) {
    throw std::invalid_argument("kernel argument is no memory");
  }
  return storage_.at(index);
}

void Execution::for_each_item(const std::function<void(const Item&)>& visit) const {
  for_each_of(num_groups(), [&](const Size3& group) { for_each_item_of_group(group, visit); });
}

void Execution::for_each_item_of_group(const Size3& group,
                                       const std::function<void(const Item&)>& visit) const {
  Item item;
  item.group_id = group;
  item.num_groups = num_groups();
  item.enqueued_local_size = launch_.local;
  item.global_size = launch_.global;
  item.global_offset = offset_;
  item.group_linear_id = linear(group, item.num_groups);
  Size3 first{};
  for (std::size_t d = 0; d < 3; ++d) {
    first[d] = group[d] * launch_.local[d];
    item.local_size[d] = std::min(launch_.local[d], launch_.global[d] - first[d]);
  }
  for_each_of(item.local_size, [&](const Size3& local) {
    item.local_id = local;
    Size3 in_range{};
    for (std::size_t d = 0; d < 3; ++d) {
      in_range[d] = first[d] + local[d];
      item.global_id[d] = in_range[d] + offset_[d];
    }
    item.local_linear_id = linear(local, item.local_size);
    item.global_linear_id = linear(in_range, launch_.global);
    visit(item);
  });
}

void add_to_elements(const Execution& execution) {
  const auto data = execution.buffer<cl_int>(0);
  const auto n = execution.value<cl_int>(1);
  execution.for_each_item([&](const Item& item) { data[item.global_id[0]] += n; });
}

}  // namespace cleave::sim
