// What a kernel's body sees of the launch that it runs for: the NDRange as OpenCL C shows it, for that driver
// launch, and the arguments as they were when the launch was enqueued.
//
// Threads: a body runs on whichever thread moved time past the launch's end, under the driver's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "tests/sim/driver/types.h"

namespace cleave::sim {

// One work-item. The names are OpenCL C's: global_id is get_global_id(0 to 2), and so on.
struct Item {
  Size3 global_id{};
  Size3 local_id{};
  Size3 group_id{};
  Size3 num_groups{};
  Size3 local_size{};           // of this work-group: the last ones may be smaller
  Size3 enqueued_local_size{};  // of the others
  Size3 global_size{};
  Size3 global_offset{};
  std::size_t global_linear_id = 0;
  std::size_t local_linear_id = 0;
  std::size_t group_linear_id = 0;
};

class Execution {
 public:
  // Memory that an argument stands for: a buffer's contents, or what an SVM pointer points to (size 0: not
  // known).
  struct Storage {
    std::byte* data = nullptr;
    std::size_t size = 0;
  };

  // `offset` is the launch's offset as it reaches the device (see Options::offset_bits).
  Execution(const Launch& launch, const Size3& offset, std::vector<Storage> storage);

  const Launch& launch() const { return launch_; }
  cl_uint work_dim() const { return launch_.work_dim; }
  const Size3& global_offset() const { return offset_; }
  const Size3& global_size() const { return launch_.global; }
  const Size3& local_size() const { return launch_.local; }
  Size3 num_groups() const;

  std::size_t argument_count() const { return launch_.arguments.size(); }
  const Argument& argument(std::size_t index) const { return launch_.arguments.at(index); }

  // The argument of that index, passed by value. Throws std::invalid_argument if its size is not T's.
  template <class T>
  T value(std::size_t index) const {
    const Argument& found = argument(index);
    if (found.kind != Argument::Kind::value || found.bytes.size() != sizeof(T)) {
      throw std::invalid_argument("kernel argument is no value of that size");
    }
    T value;
    std::memcpy(&value, found.bytes.data(), sizeof(T));
    return value;
  }

  // The buffer or SVM memory of that argument; empty for a NULL pointer. Throws if it is neither.
  template <class T>
  std::span<T> buffer(std::size_t index) const {
    const Storage found = storage(index);
    return {reinterpret_cast<T*>(found.data), found.size / sizeof(T)};
  }

  // Calls `visit` for each work-item: work-groups in ascending linear id, and so the items in each.
  void for_each_item(const std::function<void(const Item&)>& visit) const;

 private:
  Storage storage(std::size_t index) const;
  void for_each_item_of_group(const Size3& group, const std::function<void(const Item&)>& visit) const;

  const Launch& launch_;
  Size3 offset_;
  std::vector<Storage> storage_;
};

// The body of the tests' most usual kernel, (global int* data, int n): adds n to each element.
void add_to_elements(const Execution& execution);

}  // namespace cleave::sim
