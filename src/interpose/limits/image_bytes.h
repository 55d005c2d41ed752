// How many bytes the pixels of an image take at least, by its format and shape: what is booked before the driver says how many
// it has made of it.
//
// Thread-safe: pure functions.
#pragma once

#include <cstdint>

#include "base/opencl.h"

namespace cleave::interpose {

// 0 for formats that are not known, and descriptions that are not valid.
std::uint64_t bytes_of_image(const cl_image_format* format, const cl_image_desc* image) noexcept;

}  // namespace cleave::interpose
