// The client's allocations of shared virtual memory. Messages name them by their addresses in this process, which are
// not to be used before they are known to lie within one of these blocks.
//
// Not thread-safe: for the reading thread.
#pragma once

#include <cassert>
#include <cstdint>
#include <map>
#include <utility>

#include "base/opencl.h"
#include "opencl/held.h"

namespace cleave::remote::server {

// The pointer for an address from a message.
inline void* svm_pointer(std::uint64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): OpenCL's functions take pointers
  return reinterpret_cast<void*>(address);
}

class SvmBlocks {
 public:
  struct Block {
    std::uint64_t size = 0;
    opencl::Held<cl_context> context;
  };

  void add(std::uint64_t address, Block block) { blocks_[address] = std::move(block); }

  // Requires: `address` is the start of a block.
  Block remove(std::uint64_t address) {
    assert(starts_at(address));
    return blocks_.extract(address).mapped();
  }

  [[nodiscard]] std::size_t count() const { return blocks_.size(); }
  [[nodiscard]] bool starts_at(std::uint64_t address) const { return blocks_.contains(address); }

  // Whether `size` bytes from `address` on lie within one block. With size 0 the address may be the block's end.
  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t size) const {
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return false;
    --block;
    const std::uint64_t offset = address - block->first;
    return offset <= block->second.size && size <= block->second.size - offset;
  }

 private:
  std::map<std::uint64_t, Block> blocks_;
};

}  // namespace cleave::remote::server
