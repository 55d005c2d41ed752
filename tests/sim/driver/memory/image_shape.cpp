#include "tests/sim/driver/memory/image_shape.h"

namespace cleave::sim {
namespace {

constexpr cl_channel_order orders[] = {CL_R, CL_RG, CL_RGBA, CL_BGRA};
constexpr cl_channel_type types[] = {CL_UNORM_INT8,   CL_UNORM_INT16,   CL_SIGNED_INT8,    CL_SIGNED_INT16,
                                     CL_SIGNED_INT32, CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32,
                                     CL_HALF_FLOAT,   CL_FLOAT};

std::size_t channels(cl_channel_order order) {
  switch (order) {
    case CL_R:
      return 1;
    case CL_RG:
      return 2;
    case CL_RGBA:
    case CL_BGRA:
      return 4;
    default:
      return 0;
  }
}

std::size_t channel_size(cl_channel_type type) {
  switch (type) {
    case CL_UNORM_INT8:
    case CL_SNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
      return 1;
    case CL_UNORM_INT16:
    case CL_SNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
      return 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
      return 4;
    default:
      return 0;
  }
}

// Pixels, rows and slices by the type of the image. The layers of a 1D array are its rows.
Size3 size_of(const cl_image_desc& desc) {
  switch (desc.image_type) {
    case CL_MEM_OBJECT_IMAGE1D:
      return {desc.image_width, 1, 1};
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      return {desc.image_width, desc.image_array_size, 1};
    case CL_MEM_OBJECT_IMAGE2D:
      return {desc.image_width, desc.image_height, 1};
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      return {desc.image_width, desc.image_height, desc.image_array_size};
    case CL_MEM_OBJECT_IMAGE3D:
      return {desc.image_width, desc.image_height, desc.image_depth};
    default:
      throw Error{CL_INVALID_IMAGE_DESCRIPTOR};
  }
}

}  // namespace

std::size_t pixel_size(const cl_image_format& format) {
  return channels(format.image_channel_order) * channel_size(format.image_channel_data_type);
}

std::vector<cl_image_format> supported_formats() {
  std::vector<cl_image_format> formats;
  for (const auto order : orders) {
    for (const auto type : types) formats.push_back({order, type});
  }
  return formats;
}

ImageShape shape_of(const cl_image_format* format, const cl_image_desc* desc, bool has_host_pointer) {
  require(format != nullptr, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  require(desc != nullptr, CL_INVALID_IMAGE_DESCRIPTOR);
  require(desc->num_mip_levels == 0 && desc->num_samples == 0 && desc->mem_object == nullptr,
          CL_INVALID_IMAGE_DESCRIPTOR);
  ImageShape shape;
  shape.format = *format;
  shape.desc = *desc;
  shape.element = pixel_size(*format);
  require(shape.element > 0, CL_IMAGE_FORMAT_NOT_SUPPORTED);
  shape.size = size_of(*desc);
  const auto [width, height, depth] = shape.size;
  require(width > 0 && height > 0 && depth > 0, CL_INVALID_IMAGE_SIZE);
  require(width <= 16384 && height <= 16384 && depth <= 2048, CL_INVALID_IMAGE_SIZE);
  const bool pitched = desc->image_row_pitch != 0 || desc->image_slice_pitch != 0;
  require(has_host_pointer || !pitched, CL_INVALID_IMAGE_DESCRIPTOR);
  const std::size_t tight = width * shape.element;
  shape.row_pitch = desc->image_row_pitch == 0 ? tight : desc->image_row_pitch;
  require(shape.row_pitch >= tight && shape.row_pitch % shape.element == 0, CL_INVALID_IMAGE_DESCRIPTOR);
  shape.slice_pitch = desc->image_slice_pitch == 0 ? shape.row_pitch * height : desc->image_slice_pitch;
  const bool slices_fit = depth == 1 || shape.slice_pitch >= shape.row_pitch * height;
  require(slices_fit, CL_INVALID_IMAGE_DESCRIPTOR);
  return shape;
}

ImageBox image_box(const Memory& image, const std::size_t* origin, const std::size_t* region) {
  require(origin != nullptr && region != nullptr, CL_INVALID_VALUE);
  const ImageShape& shape = *image.image;
  for (std::size_t d = 0; d < 3; ++d) {
    const bool inside = region[d] > 0 && origin[d] <= shape.size[d] && region[d] <= shape.size[d] - origin[d];
    require(inside, CL_INVALID_VALUE);
  }
  const std::size_t first =
      origin[0] * shape.element + origin[1] * shape.row_pitch + origin[2] * shape.slice_pitch;
  return {{first, shape.row_pitch, shape.slice_pitch}, {region[0] * shape.element, region[1], region[2]}};
}

}  // namespace cleave::sim
