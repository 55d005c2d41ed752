#include "interpose/limits/image_bytes.h"

#include <algorithm>

namespace cleave::interpose {
namespace {

std::uint64_t channels_of(cl_channel_order order) {
  switch (order) {
    case CL_R:
    case CL_A:
    case CL_INTENSITY:
    case CL_LUMINANCE:
    case CL_DEPTH:
      return 1;
    case CL_RG:
    case CL_RA:
    case CL_Rx:
      return 2;
    case CL_RGB:
    case CL_RGx:
    case CL_sRGB:
      return 3;
    case CL_RGBA:
    case CL_BGRA:
    case CL_ARGB:
    case CL_ABGR:
    case CL_RGBx:
    case CL_sRGBA:
    case CL_sBGRA:
    case CL_sRGBx:
      return 4;
    default:
      return 0;
  }
}

std::uint64_t bytes_of_pixel(const cl_image_format& format) {
  switch (format.image_channel_data_type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
      return channels_of(format.image_channel_order);
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
      return 2 * channels_of(format.image_channel_order);
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
      return 4 * channels_of(format.image_channel_order);
    case CL_UNORM_SHORT_565:
    case CL_UNORM_SHORT_555:
      return 2;
    case CL_UNORM_INT_101010:
    case CL_UNORM_INT_101010_2:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

std::uint64_t bytes_of_image(const cl_image_format* format, const cl_image_desc* image) noexcept {
  if (format == nullptr || image == nullptr) return 0;
  const std::uint64_t pixel = bytes_of_pixel(*format);
  const std::uint64_t width = image->image_width;
  const std::uint64_t height = std::max<std::uint64_t>(image->image_height, 1);
  switch (image->image_type) {
    case CL_MEM_OBJECT_IMAGE1D:
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
      return pixel * width;
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      return pixel * width * image->image_array_size;
    case CL_MEM_OBJECT_IMAGE2D:
      return pixel * width * height;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      return pixel * width * height * image->image_array_size;
    case CL_MEM_OBJECT_IMAGE3D:
      return pixel * width * height * image->image_depth;
    default:
      return 0;
  }
}

}  // namespace cleave::interpose
