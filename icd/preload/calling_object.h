// Which library calls OpenCL.
#pragma once

namespace cleave::icd {

// The address in the program, or in one of its libraries, to which the call of this library is going to return; null if it
// cannot be found. Walks the stack up to the first frame that is not this library's. Thread-safe.
const void* calling_address() noexcept;

}  // namespace cleave::icd
