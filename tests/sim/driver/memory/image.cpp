// Images: creation and queries. Kernel bodies see an image as its bytes.
#include <algorithm>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/memory/image_shape.h"
#include "tests/sim/driver/memory/memory.h"

namespace cleave::sim {
namespace image_functions {

cl_mem create_with_properties(CallFrame& frame, Context& context, const cl_mem_properties* properties,
                              cl_mem_flags flags, const cl_image_format* format, const cl_image_desc* desc,
                              void* host_pointer) {
  require(frame.state.options.images, CL_INVALID_OPERATION);
  require(properties == nullptr || *properties == 0, CL_INVALID_PROPERTY);
  check_memory_flags(flags);
  const ImageShape shape = shape_of(format, desc, host_pointer != nullptr);
  const Size3& size = shape.size;
  const std::size_t bytes = size[2] > 1 ? shape.slice_pitch * size[2] : shape.row_pitch * size[1];
  auto memory = make_memory(frame, context, flags, bytes, host_pointer);
  memory->type = desc->image_type;
  memory->image = shape;
  memory->properties = property_list(properties);
  return handle_of(memory);
}

cl_mem create(CallFrame& frame, Context& context, cl_mem_flags flags, const cl_image_format* format,
              const cl_image_desc* desc, void* host_pointer) {
  return create_with_properties(frame, context, nullptr, flags, format, desc, host_pointer);
}

cl_mem create_2d(CallFrame& frame, Context& context, cl_mem_flags flags, const cl_image_format* format,
                 std::size_t width, std::size_t height, std::size_t row_pitch, void* host_pointer) {
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = width;
  desc.image_height = height;
  desc.image_row_pitch = row_pitch;
  return create(frame, context, flags, format, &desc, host_pointer);
}

cl_mem create_3d(CallFrame& frame, Context& context, cl_mem_flags flags, const cl_image_format* format,
                 std::size_t width, std::size_t height, std::size_t depth, std::size_t row_pitch,
                 std::size_t slice_pitch, void* host_pointer) {
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE3D;
  desc.image_width = width;
  desc.image_height = height;
  desc.image_depth = depth;
  desc.image_row_pitch = row_pitch;
  desc.image_slice_pitch = slice_pitch;
  return create(frame, context, flags, format, &desc, host_pointer);
}

void formats(CallFrame& frame, cl_context context, cl_mem_flags flags, cl_mem_object_type, cl_uint entries,
             cl_image_format* list, cl_uint* count) {
  frame.state.get(context);
  check_memory_flags(flags);
  require(list == nullptr || entries > 0, CL_INVALID_VALUE);
  const auto supported = frame.state.options.images ? supported_formats() : std::vector<cl_image_format>{};
  for (std::size_t i = 0; list != nullptr && i < supported.size() && i < entries; ++i) list[i] = supported[i];
  if (count != nullptr) *count = static_cast<cl_uint>(supported.size());
}

constexpr InfoRow<ImageShape> image_rows[] = {
    {CL_IMAGE_FORMAT, [](const ImageShape& shape) { return shape.format; }},
    {CL_IMAGE_ELEMENT_SIZE, [](const ImageShape& shape) { return shape.element; }},
    {CL_IMAGE_ROW_PITCH, [](const ImageShape& shape) { return shape.row_pitch; }},
    {CL_IMAGE_SLICE_PITCH,
     [](const ImageShape& shape) { return shape.size[2] > 1 ? shape.slice_pitch : std::size_t{0}; }},
    {CL_IMAGE_WIDTH, [](const ImageShape& shape) { return shape.desc.image_width; }},
    {CL_IMAGE_HEIGHT, [](const ImageShape& shape) { return shape.desc.image_height; }},
    {CL_IMAGE_DEPTH, [](const ImageShape& shape) { return shape.desc.image_depth; }},
    {CL_IMAGE_ARRAY_SIZE, [](const ImageShape& shape) { return shape.desc.image_array_size; }},
    {CL_IMAGE_BUFFER, [](const ImageShape&) { return cl_mem{}; }},
    {CL_IMAGE_NUM_MIP_LEVELS, [](const ImageShape&) { return cl_uint{0}; }},
    {CL_IMAGE_NUM_SAMPLES, [](const ImageShape&) { return cl_uint{0}; }},
};

void info(CallFrame&, const Memory& memory, InfoQuery query) {
  require(memory.is_image(), CL_INVALID_MEM_OBJECT);
  answer(image_rows, *memory.image, query);
}

}  // namespace image_functions

void image_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateImage, create);
  SIM_IMPLEMENT(clCreateImageWithProperties, create_with_properties);
  SIM_IMPLEMENT(clCreateImage2D, create_2d);
  SIM_IMPLEMENT(clCreateImage3D, create_3d);
  SIM_IMPLEMENT(clGetSupportedImageFormats, formats);
  SIM_IMPLEMENT(clGetImageInfo, info);
}

}  // namespace cleave::sim
