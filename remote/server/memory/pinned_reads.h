// Pinned memory of the server's own for the data of small reads. A driver that reads into other memory has a thread wait for the
// device and copy: NVIDIA's does so within the call, which may not wait here, or on a thread of its own, which has to wake. Into
// pinned memory the device writes by itself.
//
// A context has a few blocks, which reads in flight share; reads beyond them take other memory. They are made at the
// kReadsBefore-th small read of a queue, since pinning takes as long as several reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>

#include "base/opencl.h"
#include "remote/server/memory/staging.h"

namespace cleave::remote::server {

// The blocks of one context. Thread-safe.
class PinnedBlocks : public std::enable_shared_from_this<PinnedBlocks> {
 public:
  static constexpr std::size_t kBlock = std::size_t{32} << 10U;  // bytes; on the device they may take as much
  static constexpr std::size_t kBlocks = 4;

  // Null: the driver refuses, or there is no memory.
  static std::shared_ptr<PinnedBlocks> make(const Table& driver, cl_context context);
  PinnedBlocks(const PinnedBlocks&) = delete;
  PinnedBlocks& operator=(const PinnedBlocks&) = delete;
  ~PinnedBlocks();

  // A block, which keeps all of them. Empty: the size is more than a block's, or all are in use.
  Block take(std::size_t size);

 private:
  explicit PinnedBlocks(std::byte* memory) : memory_(memory) {}

  std::byte* const memory_;
  std::shared_ptr<const void> pinned_;
  std::array<std::atomic<bool>, kBlocks> in_use_{};
};

// For the thread that reads from the client.
class PinnedReads {
 public:
  static constexpr unsigned kReadsBefore = 4;
  // Contexts that have blocks at a time: what is pinned counts in no limit of the client's.
  static constexpr std::size_t kMostContexts = 16;

  // What a queue keeps: its small reads so far, at most kReadsBefore, and the blocks; null: there are none for it.
  struct OfQueue {
    unsigned reads = 0;
    std::shared_ptr<PinnedBlocks> blocks;
  };

  // `driver`: as of PinnedMemory.
  explicit PinnedReads(const Table& driver) : driver_(driver) {}

  // Memory for a read from this queue. Empty: it takes other memory.
  Block take(cl_command_queue queue, OfQueue& of, std::size_t size);

 private:
  [[nodiscard]] std::shared_ptr<PinnedBlocks> blocks_for(cl_command_queue queue);

  const Table& driver_;
  std::map<cl_context, std::weak_ptr<PinnedBlocks>> blocks_;
};

}  // namespace cleave::remote::server
