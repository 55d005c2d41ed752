// Recognises other copies of Cleave by an ELF note that every face carries, so that no face takes another for the real
// loader. A note needs no exported symbol, and is there before any code of the library runs.
#pragma once

namespace cleave::icd {

// Whether the loaded library that contains `address` is a face of Cleave. Thread-safe.
bool is_cleave_library(const void* address);

}  // namespace cleave::icd
