// Memory that the driver has pinned: the device fetches and stores data there by itself, where the driver would else have a
// processor copy it (docs/measurements.md, "On a GPU").
//
// Thread-safe: no state.
#pragma once

#include <cstddef>
#include <memory>

#include "base/opencl.h"

namespace cleave::remote::server {

// Whether the driver of this queue is one that pins, and gains by it.
[[nodiscard]] bool gains_by_pinning(const Table& driver, cl_command_queue queue);

// Null: the driver does not say.
[[nodiscard]] cl_context context_of(const Table& driver, cl_command_queue queue);

// Has the memory pinned for the context, which is kept as well, as long as the result lives. Null: the driver refuses.
[[nodiscard]] std::shared_ptr<const void> pin(const Table& driver, cl_context context, std::byte* memory,
                                              std::size_t size);

}  // namespace cleave::remote::server
