// The memory of a file that has no other place. fallocate() is a cancellation point, and most callers cannot be
// unwound, so a thread that is cancelled meanwhile ends later. If the descriptor now belongs to a file of the
// program's, it is left alone.
#pragma once

#include <cstdint>
#include <fcntl.h>

#include "base/files/verified_descriptor.h"
#include "base/threads/scoped_thread_state.h"

namespace cleave::remote::client {

// Allocates these bytes. False: there is no memory.
inline bool back_memory(const base::VerifiedDescriptor& file, std::uint64_t offset, std::uint64_t size) {
  const base::ScopedCancelDisable uncancelled;
  return file.is_valid() &&
         ::fallocate(file.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0;
}

// Gives these bytes back to the system; they are 0 from then on. False: they stay.
inline bool give_back_memory(const base::VerifiedDescriptor& file, std::uint64_t offset, std::uint64_t size) {
  const base::ScopedCancelDisable uncancelled;
  return file.is_valid() && ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                        static_cast<off_t>(offset), static_cast<off_t>(size)) == 0;
}

}  // namespace cleave::remote::client
