// The geometry of images: pixels, rows and slices as bytes.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <vector>

#include "tests/sim/driver/core/objects.h"
#include "tests/sim/driver/memory/byte_box.h"

namespace cleave::sim {

// A region of an image in bytes.
struct ImageBox {
  Layout layout;
  Size3 region;  // bytes, rows, slices
};

// Throws CL_INVALID_VALUE if `origin` and `region` (pixels, rows, slices) do not lie within the image.
ImageBox image_box(const Memory& image, const std::size_t* origin, const std::size_t* region);

// Throws the error for a format or description that the driver does not have. Images from buffers or other
// images are among these.
ImageShape shape_of(const cl_image_format* format, const cl_image_desc* desc, bool has_host_pointer);

// Bytes of a pixel, 0 for an unknown format.
std::size_t pixel_size(const cl_image_format& format);

// The formats that clGetSupportedImageFormats lists.
std::vector<cl_image_format> supported_formats();

}  // namespace cleave::sim
