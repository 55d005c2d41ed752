// Commands that move an image's pixels: read, write, copy, fill, and between images and buffers.
#include <algorithm>
#include <cstring>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/memory/byte_box.h"
#include "tests/sim/driver/memory/image_shape.h"
#include "tests/sim/driver/memory/memory.h"

namespace cleave::sim {
namespace image_transfer_functions {

// How the box lies in the program's memory: tight unless pitches are given.
Layout host_layout(const ImageBox& box, std::size_t row_pitch, std::size_t slice_pitch) {
  constexpr std::size_t origin[3] = {0, 0, 0};
  return layout_of(origin, box.region.data(), row_pitch, slice_pitch);
}

void read(CallFrame& frame, Queue& queue, Memory& image, cl_bool blocking, const std::size_t* origin,
          const std::size_t* region, std::size_t row_pitch, std::size_t slice_pitch, void* to,
          WaitListArguments wait_list) {
  require_image(queue, image);
  require(to != nullptr, CL_INVALID_VALUE);
  const ImageBox box = image_box(image, origin, region);
  const Layout host = host_layout(box, row_pitch, slice_pitch);
  require_host_reads(image);
  auto effect = [held = shared(image), to, box, host] {
    copy_box(static_cast<std::byte*>(to), host, held->data, box.layout, box.region);
  };
  enqueue_transfer(frame, queue, CL_COMMAND_READ_IMAGE, effect, wait_list, blocking);
}

void write(CallFrame& frame, Queue& queue, Memory& image, cl_bool blocking, const std::size_t* origin,
           const std::size_t* region, std::size_t row_pitch, std::size_t slice_pitch, const void* from,
           WaitListArguments wait_list) {
  require_image(queue, image);
  require(from != nullptr, CL_INVALID_VALUE);
  const ImageBox box = image_box(image, origin, region);
  const Layout host = host_layout(box, row_pitch, slice_pitch);
  require_host_writes(image);
  auto effect = [held = shared(image), from, box, host] {
    copy_box(held->data, box.layout, static_cast<const std::byte*>(from), host, box.region);
  };
  enqueue_transfer(frame, queue, CL_COMMAND_WRITE_IMAGE, effect, wait_list, blocking);
}

// One box to another of the same size.
void enqueue_copy(CallFrame& frame, Queue& queue, cl_command_type type, Memory& from,
                  const Layout& from_layout, Memory& to, const Layout& to_layout, const Size3& region,
                  WaitListArguments wait_list) {
  auto effect = [source = shared(from), target = shared(to), from_layout, to_layout, region] {
    copy_box(target->data, to_layout, source->data, from_layout, region);
  };
  enqueue_transfer(frame, queue, type, effect, wait_list);
}

void copy(CallFrame& frame, Queue& queue, Memory& from, Memory& to, const std::size_t* from_origin,
          const std::size_t* to_origin, const std::size_t* region, WaitListArguments wait_list) {
  require_image(queue, from);
  require_image(queue, to);
  const bool alike = std::memcmp(&from.image->format, &to.image->format, sizeof(cl_image_format)) == 0;
  require(alike, CL_IMAGE_FORMAT_MISMATCH);
  const ImageBox source = image_box(from, from_origin, region);
  const ImageBox target = image_box(to, to_origin, region);
  enqueue_copy(frame, queue, CL_COMMAND_COPY_IMAGE, from, source.layout, to, target.layout, source.region,
               wait_list);
}

// The pixels as they lie in a buffer: tight, from `offset` on.
Layout layout_in_buffer(const Memory& buffer, const ImageBox& box, std::size_t offset) {
  Layout layout = host_layout(box, 0, 0);
  layout.first = offset;
  require(offset <= buffer.size && end_of(layout, box.region) <= buffer.size, CL_INVALID_VALUE);
  return layout;
}

void copy_to_buffer(CallFrame& frame, Queue& queue, Memory& image, Memory& buffer, const std::size_t* origin,
                    const std::size_t* region, std::size_t offset, WaitListArguments wait_list) {
  require_image(queue, image);
  require_buffer(queue, buffer);
  const ImageBox box = image_box(image, origin, region);
  enqueue_copy(frame, queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, image, box.layout, buffer,
               layout_in_buffer(buffer, box, offset), box.region, wait_list);
}

void copy_from_buffer(CallFrame& frame, Queue& queue, Memory& buffer, Memory& image, std::size_t offset,
                      const std::size_t* origin, const std::size_t* region, WaitListArguments wait_list) {
  require_buffer(queue, buffer);
  require_image(queue, image);
  const ImageBox box = image_box(image, origin, region);
  enqueue_copy(frame, queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, buffer, layout_in_buffer(buffer, box, offset),
               image, box.layout, box.region, wait_list);
}

// The colour comes as four floats or integers. Only formats of four 32-bit channels take it as it is; for
// others the bytes are cut, which is wrong for normalised and half-float formats, but as good as any value
// for a test.
void fill(CallFrame& frame, Queue& queue, Memory& image, const void* colour, const std::size_t* origin,
          const std::size_t* region, WaitListArguments wait_list) {
  require_image(queue, image);
  require(colour != nullptr, CL_INVALID_VALUE);
  const ImageBox box = image_box(image, origin, region);
  const auto* first = static_cast<const std::byte*>(colour);
  const std::size_t element = image.image->element;
  auto effect = [held = shared(image), box, bytes = std::vector<std::byte>(first, first + element)] {
    fill_box(held->data, box.layout, box.region, bytes.data(), bytes.size());
  };
  enqueue_transfer(frame, queue, CL_COMMAND_FILL_IMAGE, effect, wait_list);
}

}  // namespace image_transfer_functions

void image_transfer_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clEnqueueReadImage, read);
  SIM_IMPLEMENT(clEnqueueWriteImage, write);
  SIM_IMPLEMENT(clEnqueueCopyImage, copy);
  SIM_IMPLEMENT(clEnqueueCopyImageToBuffer, copy_to_buffer);
  SIM_IMPLEMENT(clEnqueueCopyBufferToImage, copy_from_buffer);
  SIM_IMPLEMENT(clEnqueueFillImage, fill);
}

}  // namespace cleave::sim
