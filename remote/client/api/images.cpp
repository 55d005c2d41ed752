// Images: what the client must know of them to transfer their pixels and to answer queries.
#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/api/memory.h"
#include "remote/client/api/regions.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

std::size_t channels_of(cl_channel_order order) {
  switch (order) {
    case CL_R:
    case CL_A:
    case CL_INTENSITY:
    case CL_LUMINANCE:
    case CL_Rx:
    case CL_DEPTH:
      return 1;
    case CL_RG:
    case CL_RA:
    case CL_RGx:
      return 2;
    case CL_RGB:
    case CL_RGBx:
    case CL_sRGB:
      return 3;
    default:
      return 4;
  }
}

std::size_t channel_size(cl_channel_type type) {
  switch (type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
      return 1;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
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

std::array<std::size_t, 3> extent_of(const cl_image_desc& desc) {
  const auto most = [](std::size_t size) { return std::max<std::size_t>(size, 1); };
  switch (desc.image_type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      return {most(desc.image_width), most(desc.image_array_size), 1};
    case CL_MEM_OBJECT_IMAGE2D:
      return {most(desc.image_width), most(desc.image_height), 1};
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      return {most(desc.image_width), most(desc.image_height), most(desc.image_array_size)};
    case CL_MEM_OBJECT_IMAGE3D:
      return {most(desc.image_width), most(desc.image_height), most(desc.image_depth)};
    default:
      return {most(desc.image_width), 1, 1};
  }
}

// The slice pitch is the distance between an array's images, also if these have one row.
void set_pitches(MemoryState& state, bool with_host) {
  const auto [width, rows, slices] = extent_of(state.description);
  const bool lines = state.description.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const std::size_t row = with_host ? state.description.image_row_pitch : 0;
  const std::size_t slice = with_host ? state.description.image_slice_pitch : 0;
  state.row_pitch = row != 0 ? row : width * state.pixel_bytes;
  if (lines) {
    // Its rows are its images.
    state.slice_pitch = slice != 0 ? slice : state.row_pitch;
    return;
  }
  state.slice_pitch = slices == 1 ? 0 : slice != 0 ? slice : state.row_pitch * rows;
}

// By the specification, and whether the image's contents can be sent at all.
cl_int check_creation(const ContextState& context, const cl_image_format& format, const cl_image_desc& desc,
                      cl_mem_flags flags, const void* host) {
  if (const cl_int error = check_flags(flags); error != CL_SUCCESS) return error;
  const bool with_host = (flags & kHostData) != 0;
  if (with_host != (host != nullptr)) return CL_INVALID_HOST_PTR;
  std::size_t bytes = pixel_size(format);
  for (const std::size_t one : extent_of(desc)) {
    if (__builtin_mul_overflow(bytes, one, &bytes)) return CL_INVALID_IMAGE_SIZE;
  }
  return with_host && bytes > context.max_allocation ? CL_INVALID_IMAGE_SIZE : CL_SUCCESS;
}

// Whether the driver's answer is awaited before contents of that size are sent.
bool needs_trial(const cl_image_format& format, const cl_image_desc& desc) {
  constexpr std::size_t kMaxUntried = std::size_t{1} << 24U;
  const auto [width, rows, slices] = extent_of(desc);
  return width > kMaxUntried || width * pixel_size(format) * rows * slices > kMaxUntried;
}

// What follows from the image's flags and description, and from what it is made of.
void complete(MemoryState& image, void* host) {
  const bool with_host = (image.flags & kHostData) != 0;
  const MemoryState* const under = image.parent == nullptr ? nullptr : &state_of<MemoryState>(*image.parent);
  if ((image.flags & CL_MEM_USE_HOST_PTR) != 0) image.host = host;
  if ((image.flags & kAccessFlags) == 0)
    image.flags |= under != nullptr ? under->flags & kAccessFlags : CL_MEM_READ_WRITE;
  if (under != nullptr) {
    image.flags |= under->flags & (kHostData | CL_MEM_ALLOC_HOST_PTR);
    image.host = under->host;
  }
  image.type = image.description.image_type;
  image.pixel_bytes = pixel_size(image.format);
  set_pitches(image, with_host || under != nullptr);
  const auto [width, rows, slices] = extent_of(image);
  image.size = image.pixel_bytes * width * rows * slices;
}

cl_mem create_image(cl_context handle, const cl_mem_properties* properties, cl_mem_flags flags,
                    const cl_image_format* format, const cl_image_desc* desc, void* host, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_CONTEXT);
  if (format == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  if (desc == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_IMAGE_DESCRIPTOR);
  const bool with_host = (flags & kHostData) != 0;
  // Servers can use shared virtual memory in place for buffers only.
  if ((flags & CL_MEM_USE_HOST_PTR) != 0 && client.svm.find(host, 1))
    return fail<cl_mem>(error_ret, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  Object* const base = desc->mem_object == nullptr ? nullptr : find(desc->mem_object);
  if (desc->mem_object != nullptr && base == nullptr)
    return fail<cl_mem>(error_ret, CL_INVALID_IMAGE_DESCRIPTOR);
  const ContextState& of = state_of<ContextState>(*context);
  const auto make = [&](auto& b, Id id, cl_mem_flags sent_flags, const auto& list, wire::Trial trial) {
    const wire::ImageFormat wire_format(format->image_channel_order, format->image_channel_data_type);
    // Contents are sent without gaps.
    const bool pitches = base != nullptr || host == nullptr || trial != wire::Trial::no;
    const wire::ImageDesc wire_desc(desc->image_width, desc->image_height, desc->image_depth,
                                    desc->image_array_size, pitches ? desc->image_row_pitch : 0,
                                    pitches ? desc->image_slice_pitch : 0, desc->image_type,
                                    desc->num_mip_levels, desc->num_samples);
    return wire::CreateCreateImage(b, id, of.id, sent_flags, &wire_format, &wire_desc,
                                   base == nullptr ? 0 : state_of<MemoryState>(*base).id,
                                   wire_properties(b, list), trial);
  };
  if (const cl_int error = check_creation(of, *format, *desc, flags, host); error != CL_SUCCESS) {
    const auto try_out = [&](auto& b, wire::Trial trial) {
      return make(b, of.connection->new_id(), flags, property_list(properties), trial);
    };
    const cl_int judged = judged_by_driver(*of.connection, error, host != nullptr, with_host, try_out);
    if (judged != CL_SUCCESS) return fail<cl_mem>(error_ret, judged);
    if (with_host != (host != nullptr)) return fail<cl_mem>(error_ret, error);
  } else if (with_host && needs_trial(*format, *desc) && of.connection->supports(Feature::trials)) {
    // An image that the driver refuses may have less memory behind it than its size says.
    const cl_int judged = of.connection->call({}, [&](auto& b) {
      return make(b, of.connection->new_id(), flags & ~kHostData, property_list(properties),
                  wire::Trial::without_host);
    });
    if (judged != CL_SUCCESS) return fail<cl_mem>(error_ret, judged);
  }
  NewObject<MemoryState> made(base != nullptr ? *base : *context, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->parent = base;
  made->flags = flags;
  made->format = *format;
  made->description = *desc;
  made->properties = property_list(properties);
  complete(*made, host);
  const auto extent = extent_of(*desc);
  Box data;
  if (with_host && made->pixel_bytes != 0)
    data = ImageRegion{nullptr, extent.data(), made->row_pitch, made->slice_pitch}.box(*made, host);
  const auto send = [&](auto& b) {
    return make(b, made->id, flags & ~kHostData, made->properties, wire::Trial::no);
  };
  return made.create(error_ret, send, data);
}

}  // namespace

std::size_t pixel_size(const cl_image_format& format) {
  switch (format.image_channel_data_type) {
    case CL_UNORM_SHORT_565:
    case CL_UNORM_SHORT_555:
      return 2;
    case CL_UNORM_INT_101010:
    case CL_UNORM_INT_101010_2:
    case CL_UNORM_INT24:
      return 4;
    default:
      return channels_of(format.image_channel_order) * channel_size(format.image_channel_data_type);
  }
}

std::array<std::size_t, 3> extent_of(const MemoryState& image) { return extent_of(image.description); }

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* desc, void* host, cl_int* error_ret) {
  return create_image(context, nullptr, flags, format, desc, host, error_ret);
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* format,
                                               const cl_image_desc* desc, void* host, cl_int* error_ret) {
  return create_image(context, properties, flags, format, desc, host, error_ret);
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t row_pitch, void* host,
                                   cl_int* error_ret) {
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = width;
  desc.image_height = height;
  desc.image_row_pitch = row_pitch;
  return create_image(context, nullptr, flags, format, &desc, host, error_ret);
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t depth, size_t row_pitch,
                                   size_t slice_pitch, void* host, cl_int* error_ret) {
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE3D;
  desc.image_width = width;
  desc.image_height = height;
  desc.image_depth = depth;
  desc.image_row_pitch = row_pitch;
  desc.image_slice_pitch = slice_pitch;
  return create_image(context, nullptr, flags, format, &desc, host, error_ret);
}

cl_int CL_API_CALL clGetImageInfo(cl_mem handle, cl_image_info name, size_t size, void* value,
                                  size_t* size_ret) {
  const MemoryState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_MEM_OBJECT;
  const InfoOutput output{size, value, size_ret};
  if (state->type == CL_MEM_OBJECT_BUFFER || state->type == CL_MEM_OBJECT_PIPE)  // some drivers answer
    return query_into(*state->connection, {wire::InfoSubject::image, state->id, name}, output);
  const cl_image_desc& desc = state->description;
  const bool has_rows = desc.image_type == CL_MEM_OBJECT_IMAGE2D ||
                        desc.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                        desc.image_type == CL_MEM_OBJECT_IMAGE3D;
  const bool is_array =
      desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY || desc.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  switch (name) {
    case CL_IMAGE_FORMAT:
      return output.write(state->format);
    case CL_IMAGE_ELEMENT_SIZE:
      return output.write(state->pixel_bytes);
    case CL_IMAGE_ROW_PITCH:
      return output.write(state->row_pitch);
    case CL_IMAGE_SLICE_PITCH:
      return output.write(state->slice_pitch);
    case CL_IMAGE_WIDTH:
      return output.write(desc.image_width);
    case CL_IMAGE_HEIGHT:
      return output.write(has_rows ? desc.image_height : std::size_t{0});
    case CL_IMAGE_DEPTH:
      return output.write(desc.image_type == CL_MEM_OBJECT_IMAGE3D ? desc.image_depth : std::size_t{0});
    case CL_IMAGE_ARRAY_SIZE:
      return output.write(is_array ? desc.image_array_size : std::size_t{0});
    case CL_IMAGE_BUFFER: {
      const bool on_buffer =
          state->parent != nullptr && state_of<MemoryState>(*state->parent).type == CL_MEM_OBJECT_BUFFER;
      return output.write(objects::handle_of<cl_mem>(on_buffer ? state->parent : nullptr));
    }
    case CL_IMAGE_NUM_MIP_LEVELS:
      return output.write(desc.num_mip_levels);
    case CL_IMAGE_NUM_SAMPLES:
      return output.write(desc.num_samples);
    default:
      return CL_INVALID_VALUE;
  }
}

}  // namespace cleave::remote::client
