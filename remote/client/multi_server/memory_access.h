// What commands do to memory objects, by what is known of both.
//
// Thread-safe: all functions only look.
#pragma once

#include <cstddef>
#include <cstdint>

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client::multi_server {

// Reads it; changes some of it; gives it new contents altogether.
enum class Access : std::uint8_t { read, write, overwrite };

// Whether a kernel may write what its argument is set to: unless the program has said that it only reads it.
bool may_write(const KernelState& kernel, cl_uint index);

// What a launch does to such an object, if the kernel may write what that argument is set to.
Access access_of_argument(bool is_writable, cl_mem_flags flags);

// What a write of these bytes of a buffer does: new contents are those of all of a buffer that is no other's
// part.
Access access_of_write(const MemoryState& buffer, std::size_t offset, std::size_t size);

}  // namespace cleave::remote::client::multi_server
