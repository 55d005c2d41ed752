// Memory objects: buffers, parts of them, images and pipes.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/session/session.h"

namespace cleave::remote::server {
namespace {

// The client's memory has another address here: its contents come as a payload.
constexpr cl_mem_flags kHostPointer = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
// What the host may do is for the client to say: of what it writes to a map, the rest is read first.
constexpr cl_mem_flags kHostAccess = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

cl_mem_flags driver_flags(cl_mem_flags flags, bool filled) {
  return (flags & ~(kHostPointer | kHostAccess)) | (filled ? CL_MEM_COPY_HOST_PTR : 0);
}

// Sizes that do not count for the type are 0, whatever the program has left there.
cl_image_desc description_of(const wire::ImageDesc& wanted) {
  cl_image_desc desc{};
  desc.image_type = wanted.type();
  desc.image_width = wanted.width();
  const auto is_one_of = [&](std::initializer_list<cl_mem_object_type> types) {
    return std::find(types.begin(), types.end(), desc.image_type) != types.end();
  };
  const bool line =
      is_one_of({CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_IMAGE1D_ARRAY});
  if (!line) desc.image_height = wanted.height();
  if (is_one_of({CL_MEM_OBJECT_IMAGE3D})) desc.image_depth = wanted.depth();
  if (is_one_of({CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D_ARRAY}))
    desc.image_array_size = wanted.array_size();
  desc.num_mip_levels = wanted.mip_levels();
  desc.num_samples = wanted.samples();
  return desc;
}

}  // namespace

// What has been taken is given back when the driver is done with the object.
void ClientSession::release_memory_when_destroyed(cl_mem memory, std::uint64_t size) {
  struct Taken {
    std::shared_ptr<std::atomic<std::uint64_t>> total;
    std::uint64_t size;
    static void CL_CALLBACK give_back(cl_mem, void* data) {
      const std::unique_ptr<Taken> taken(static_cast<Taken*>(data));
      taken->total->fetch_sub(taken->size);
    }
  };
  auto taken = std::make_unique<Taken>(Taken{memory_, size});
  if (cl_.clSetMemObjectDestructorCallback(memory, &Taken::give_back, taken.get()) == CL_SUCCESS)
    static_cast<void>(taken.release());
}

void ClientSession::handle(const wire::Command& command, const wire::CreateBuffer& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  if (!is_empty(message.properties())) return reply(command, message.id(), CL_INVALID_PROPERTY);
  if (message.svm() != 0) return create_over_svm(command, message, context);
  const bool filled = command.payload() > 0;
  if (filled && command.payload() != message.size()) return report_violation("a payload of another size");
  cl_int error = reserve_memory(message.size());
  if (error != CL_SUCCESS) return reply(command, message.id(), error);
  const Block contents = filled ? staging_.take(message.size()) : Block();
  cl_mem buffer = nullptr;
  if (filled && !contents) {
    error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  } else {
    if (filled && !read_payload(contents.bytes())) return;
    buffer = cl_.clCreateBuffer(context, driver_flags(message.flags(), filled), message.size(),
                                contents.data(), &error);
  }
  if (error == CL_SUCCESS) {
    release_memory_when_destroyed(buffer, message.size());
  } else {
    memory_->fetch_sub(message.size());
  }
  register_created(command, message.id(), {Kind::memory, buffer, CL_SUCCESS, message.size(), {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::CreateSubBuffer& message) {
  if (!check_new_id(message.id())) return;
  const auto buffer = objects_.handle<cl_mem>(message.buffer());
  if (buffer == nullptr) return reply(command, message.id(), CL_INVALID_MEM_OBJECT);
  const cl_buffer_region region{message.origin(), message.size()};
  cl_int error = CL_SUCCESS;
  const cl_mem made = cl_.clCreateSubBuffer(buffer, driver_flags(message.flags(), false),
                                            CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  register_created(command, message.id(), {Kind::memory, made, CL_SUCCESS, message.size(), {}, {}}, error);
}

// An image of one pixel knows how large a pixel is.
std::optional<std::uint64_t> ClientSession::probe_element_size(cl_context context,
                                                               const cl_image_format& format) {
  const std::pair key{format.image_channel_order, format.image_channel_data_type};
  const auto known = element_sizes_.find(key);
  if (known != element_sizes_.end()) return known->second;
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 1;
  for (const cl_mem_flags flags : {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY}) {
    const cl_mem probe = cl_.clCreateImage(context, flags, &format, &desc, nullptr, nullptr);
    if (probe == nullptr) continue;
    const std::uint64_t size = element_size(probe);
    cl_.clReleaseMemObject(probe);
    if (size > 0) return element_sizes_[key] = size;
  }
  return std::nullopt;
}

void ClientSession::handle(const wire::Command& command, const wire::CreateImage& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  if (!is_empty(message.properties())) return reply(command, message.id(), CL_INVALID_PROPERTY);
  if (message.format() == nullptr) return reply(command, message.id(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  if (message.desc() == nullptr) return reply(command, message.id(), CL_INVALID_IMAGE_DESCRIPTOR);
  const wire::ImageDesc& wanted = *message.desc();
  const cl_image_format format{message.format()->order(), message.format()->type()};
  cl_image_desc desc = description_of(wanted);
  if (message.memory() != 0) {
    desc.buffer = objects_.handle<cl_mem>(message.memory());
    if (desc.buffer == nullptr) return reply(command, message.id(), CL_INVALID_IMAGE_DESCRIPTOR);
    desc.image_row_pitch = wanted.row_pitch();
    desc.image_slice_pitch = wanted.slice_pitch();
  }
  const auto element = probe_element_size(context, format);
  std::uint64_t size = element.value_or(1);
  for (const std::size_t one :
       {desc.image_width, desc.image_height, desc.image_depth, desc.image_array_size}) {
    if (one > 0 && __builtin_mul_overflow(size, one, &size))
      return reply(command, message.id(), CL_INVALID_IMAGE_SIZE);
  }
  const bool filled = command.payload() > 0;
  if (filled && (!element || command.payload() != size))
    return reply(command, message.id(), CL_INVALID_IMAGE_DESCRIPTOR);
  cl_int error = reserve_memory(size);
  if (error != CL_SUCCESS) return reply(command, message.id(), error);
  const Block contents = filled ? staging_.take(size) : Block();
  cl_mem image = nullptr;
  if (filled && !contents) {
    error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  } else {
    if (filled && !read_payload(contents.bytes())) return;
    image = cl_.clCreateImage(context, driver_flags(message.flags(), filled), &format, &desc, contents.data(),
                              &error);
  }
  if (error == CL_SUCCESS) {
    release_memory_when_destroyed(image, size);
  } else {
    memory_->fetch_sub(size);
  }
  register_created(command, message.id(), {Kind::memory, image, CL_SUCCESS, 0, {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::CreatePipe& message) {
  if (!check_new_id(message.id())) return;
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, message.id(), CL_INVALID_CONTEXT);
  const std::uint64_t size = std::uint64_t{message.packet_size()} * message.max_packets();
  cl_int error = reserve_memory(size);
  if (error != CL_SUCCESS) return reply(command, message.id(), error);
  const cl_mem pipe = cl_.clCreatePipe(context, message.flags(), message.packet_size(), message.max_packets(),
                                       nullptr, &error);
  if (error == CL_SUCCESS) {
    release_memory_when_destroyed(pipe, size);
  } else {
    memory_->fetch_sub(size);
  }
  register_created(command, message.id(), {Kind::memory, pipe, CL_SUCCESS, 0, {}, {}}, error);
}

}  // namespace cleave::remote::server
