// The beginning of the memory that a client shares, pinned by the driver: the device fetches data from there by itself, where
// the driver would else have a processor copy it (docs/measurements.md, "What a server's devices cost").
//
// For the thread that reads from the client.
#pragma once

#include <map>
#include <memory>

#include "base/opencl.h"
#include "remote/server/memory/shared_memory.h"

namespace cleave::remote::server {

class PinnedMemory {
 public:
  // `driver`: not counted against the client's limits, since it is no object of the client's. `shared` may be null.
  PinnedMemory(const Table& driver, const SharedMemory* shared) : driver_(driver), shared_(shared) {}

  // Pins the memory for the context of this queue, if it is not pinned, for as long as the result lives; so it should not outlive
  // the queue, since it keeps the context. Null: this driver does not gain by it, or refuses.
  std::shared_ptr<const void> pin_for(cl_command_queue queue);

 private:
  [[nodiscard]] bool gains(cl_command_queue queue) const;

  const Table& driver_;
  const SharedMemory* const shared_;
  std::map<cl_context, std::weak_ptr<const void>> pinned_;
};

}  // namespace cleave::remote::server
