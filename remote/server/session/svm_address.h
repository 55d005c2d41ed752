// What a number in a message is in this process: shared virtual memory is named by its address here.
#pragma once

#include <cstdint>

namespace cleave::remote::server {

// Not to be followed before it is known to lie in memory of the client's (ClientSession::is_svm).
inline void* at(std::uint64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is what OpenCL calls it
  return reinterpret_cast<void*>(address);
}

}  // namespace cleave::remote::server
