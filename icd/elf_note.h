// How one copy of Cleave knows another: an ELF note in every face, so that no face takes one for the real
// loader. A note needs no exported symbol, and is there before any of the library's code runs.
#pragma once

namespace cleave::icd {

// Whether the loaded library that contains `address` is a face of Cleave. Thread-safe.
bool is_cleave_library(const void* address);

}  // namespace cleave::icd
