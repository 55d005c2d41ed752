// The contents of a buffer on their way between its device and another server: parts are copied from the device while
// others are sent, and to the device while others are received. The format is in messages.fbs (Peer).
//
// Thread-safe: each call has a connection and a range of its own, and returns when the driver no longer uses any memory of it.
// The driver's queue is another thread's as well.
#pragma once

#include <cstdint>

#include "base/opencl.h"
#include "opencl/held.h"
#include "remote/server/memory/staging.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

// A range of a buffer and a queue of its context, both of which it holds.
class ContentsRange {
 public:
  ContentsRange(const Table& cl, cl_command_queue queue, cl_mem buffer, std::uint64_t offset,
                std::uint64_t size);

  [[nodiscard]] const Table& cl() const { return *cl_; }
  [[nodiscard]] cl_command_queue queue() const { return queue_.get(); }
  [[nodiscard]] cl_mem buffer() const { return buffer_.get(); }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Whether its device is a processor, whose buffers need not be copied to be sent.
  [[nodiscard]] bool is_mapped() const { return is_mapped_; }

 private:
  const Table* cl_;
  opencl::Held<cl_command_queue> queue_;
  opencl::Held<cl_mem> buffer_;
  std::uint64_t offset_;
  std::uint64_t size_;
  bool is_mapped_ = false;
};

// A source that waits for its device sends a heartbeat as often as this.
inline constexpr std::chrono::seconds kContentsHeartbeat{1};

// False: the driver or the connection has failed, and the target gets less than all.
bool send_contents(const ContentsRange& range, Stream& stream, Staging& staging, Duration stall_timeout);

// False: as above; some of the range may have been written. `silence`: how long the source may send nothing.
bool receive_contents(const ContentsRange& range, Stream& stream, Staging& staging, Duration silence);

}  // namespace cleave::remote::server
