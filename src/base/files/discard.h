// Closing descriptors that came from a peer that is not trusted.
//
// Thread-safe. Nothing throws.
#pragma once

#include <vector>

#include "base/files/file_descriptor.h"

namespace cleave::base {

// Closes what a peer may have sent, or what may hold such descriptors in its queue. To close the last reference to a socket that
// lingers would take as long as its sender has chosen: here it does not linger. A file whose file system does not answer may
// block a thread, which is not the caller's.
void discard(std::vector<FileDescriptor> descriptors) noexcept;
void discard(FileDescriptor descriptor) noexcept;

}  // namespace cleave::base
