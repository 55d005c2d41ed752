// Memory objects: buffers, sub-buffers, images and pipes.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "remote/server/handlers/handlers.h"
#include "remote/server/session/info_result.h"

namespace cleave::remote::server {
namespace {

// The client's host pointers are not valid here: the contents arrive as a payload.
constexpr cl_mem_flags kHostPointer = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
// Host access is checked by the client. So the driver must allow every access: a mapping for writing is read first.
constexpr cl_mem_flags kHostAccess = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
// The most bytes that an element of an image has.
constexpr std::uint64_t kMaxElement = 16;

cl_mem_flags driver_flags(cl_mem_flags flags, bool filled) {
  return (flags & ~(kHostPointer | kHostAccess)) | (filled ? CL_MEM_COPY_HOST_PTR : 0);
}

// Sizes that do not apply to the type are 0, whatever the program has put there.
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

// The memory was counted when it was allocated (SvmAlloc).
void create_over_svm(SessionContext& session, const wire::Command& command, const wire::CreateBuffer& message,
                     cl_context context) {
  if (command.payload() > 0)
    return session.report_violation("payload for a buffer over shared virtual memory");
  if (message.size() == 0 || !session.svm.contains(message.svm(), message.size()))
    return session.reply(command, message.id(), CL_INVALID_HOST_PTR);
  constexpr cl_mem_flags kOtherMemory = CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR;
  const cl_mem_flags flags = (message.flags() & ~kOtherMemory) | CL_MEM_USE_HOST_PTR;
  cl_int error = CL_SUCCESS;
  const cl_mem buffer =
      session.cl.clCreateBuffer(context, flags, message.size(), svm_pointer(message.svm()), &error);
  session.register_created(command, message.id(), {Kind::memory, buffer, message.size()}, error);
}

// Creates a memory object with `create(contents, error)`; `contents` is the command's payload, or null where there is
// none.
template <typename Create>
void create_memory(SessionContext& session, const wire::Command& command, std::uint64_t id,
                   std::uint64_t size, std::uint64_t registered_size, Create create) {
  cl_int error = session.reserve_memory(size);
  if (error != CL_SUCCESS) return session.reply(command, id, error);
  const bool filled = command.payload() > 0;
  const Block contents = filled ? session.staging.take(size) : Block();
  cl_mem memory = nullptr;
  if (filled && !contents) {
    error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  } else {
    if (filled && !session.read_payload(contents.bytes())) return;
    memory = create(contents.data(), &error);
  }
  session.memory.settle(session.cl, memory, error, size);
  session.register_created(command, id, {Kind::memory, memory, registered_size}, error);
}

// UINT64_MAX: more than there can be.
std::uint64_t bytes_of(const cl_image_desc& desc, std::uint64_t element) {
  std::uint64_t size = element;
  for (const std::size_t one :
       {desc.image_width, desc.image_height, desc.image_depth, desc.image_array_size}) {
    if (one > 0 && __builtin_mul_overflow(size, one, &size)) return UINT64_MAX;
  }
  return size;
}

// Answers what the driver says to these arguments (wire::Trial). create(contents, &error) makes the object, which is released.
// `too_large`: the error if the client may not have that many bytes.
template <typename Create>
void try_creation(SessionContext& session, const wire::Command& command, wire::Trial trial,
                  std::uint64_t size, cl_int too_large, Create create) {
  if (command.request() == 0 || command.payload() != 0)
    return session.report_violation("trial with contents, or without a request for an answer");
  cl_int error = session.reserve_memory(size);
  if (error != CL_SUCCESS) return session.reply(command, 0, too_large);
  std::byte unread{};
  const cl_mem made = create(trial == wire::Trial::with_host ? &unread : nullptr, &error);
  if (made != nullptr) session.cl.clReleaseMemObject(made);
  session.memory.release(size);
  session.reply(command, 0, error);
}

// Whether the driver would read contents, of which a trial has none.
bool reads_contents(wire::Trial trial, cl_mem_flags flags) {
  return trial == wire::Trial::with_host && (flags & kHostPointer) != 0;
}

// The driver's size of one element of this format, found by creating an image of one element. Empty: no such format.
std::optional<std::uint64_t> probe_element_size(SessionContext& session, cl_context context,
                                                const cl_image_format& format) {
  const std::pair key{format.image_channel_order, format.image_channel_data_type};
  const auto known = session.element_sizes.find(key);
  if (known != session.element_sizes.end()) return known->second;
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 1;
  for (const cl_mem_flags flags : {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY}) {
    const cl_mem probe = session.cl.clCreateImage(context, flags, &format, &desc, nullptr, nullptr);
    if (probe == nullptr) continue;
    const std::uint64_t size = image_element_size(session.cl, probe);
    session.cl.clReleaseMemObject(probe);
    if (size > 0) return session.element_sizes[key] = size;
  }
  return std::nullopt;
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::CreateBuffer& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  if (!is_empty(message.properties())) return session.reply(command, message.id(), CL_INVALID_PROPERTY);
  if (message.svm() != 0) return create_over_svm(session, command, message, context);
  if (reads_contents(message.trial(), message.flags()))
    return session.reply(command, message.id(), CL_INVALID_HOST_PTR);
  if (message.trial() != wire::Trial::no) {
    return try_creation(session, command, message.trial(), message.size(), CL_INVALID_BUFFER_SIZE,
                        [&](void* contents, cl_int* error) {
                          return session.cl.clCreateBuffer(context, message.flags(), message.size(), contents,
                                                           error);
                        });
  }
  const bool filled = command.payload() > 0;
  if (filled && command.payload() != message.size())
    return session.report_violation("payload size does not match");
  create_memory(session, command, message.id(), message.size(), message.size(),
                [&](void* contents, cl_int* error) {
                  return session.cl.clCreateBuffer(context, driver_flags(message.flags(), filled),
                                                   message.size(), contents, error);
                });
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateSubBuffer& message) {
  if (!session.may_create(command, message.id())) return;
  const auto buffer = session.objects.handle<cl_mem>(message.buffer());
  if (buffer == nullptr) return session.reply(command, message.id(), CL_INVALID_MEM_OBJECT);
  const cl_buffer_region region{message.origin(), message.size()};
  if (message.trial() != wire::Trial::no) {
    return try_creation(session, command, wire::Trial::without_host, 0, CL_SUCCESS,
                        [&](void*, cl_int* error) {
                          return session.cl.clCreateSubBuffer(buffer, message.flags(),
                                                              CL_BUFFER_CREATE_TYPE_REGION, &region, error);
                        });
  }
  cl_int error = CL_SUCCESS;
  const cl_mem made = session.cl.clCreateSubBuffer(buffer, driver_flags(message.flags(), false),
                                                   CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  session.register_created(command, message.id(), {Kind::memory, made, message.size()}, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateImage& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  if (!is_empty(message.properties())) return session.reply(command, message.id(), CL_INVALID_PROPERTY);
  if (message.format() == nullptr)
    return session.reply(command, message.id(), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  if (message.desc() == nullptr) return session.reply(command, message.id(), CL_INVALID_IMAGE_DESCRIPTOR);
  const wire::ImageDesc& wanted = *message.desc();
  const cl_image_format format{message.format()->order(), message.format()->type()};
  cl_image_desc desc = description_of(wanted);
  if (message.memory() != 0) {
    desc.buffer = session.objects.handle<cl_mem>(message.memory());
    if (desc.buffer == nullptr) return session.reply(command, message.id(), CL_INVALID_IMAGE_DESCRIPTOR);
  }
  // Contents come without gaps: by pitches the driver would read beyond them.
  const bool filled = command.payload() > 0;
  desc.image_row_pitch = filled ? 0 : wanted.row_pitch();
  desc.image_slice_pitch = filled ? 0 : wanted.slice_pitch();
  if (reads_contents(message.trial(), message.flags()))
    return session.reply(command, message.id(), CL_INVALID_HOST_PTR);
  const auto try_image = [&](void* contents, cl_int* error) {
    return session.cl.clCreateImage(context, message.flags(), &format, &desc, contents, error);
  };
  if (message.trial() != wire::Trial::no) {
    return try_creation(session, command, message.trial(), bytes_of(desc, kMaxElement), CL_INVALID_IMAGE_SIZE,
                        try_image);
  }
  const auto element = probe_element_size(session, context, format);
  const std::uint64_t size = bytes_of(desc, element.value_or(1));
  if (size == UINT64_MAX) return session.reply(command, message.id(), CL_INVALID_IMAGE_SIZE);
  if (filled && (!element || command.payload() != size))
    return session.reply(command, message.id(), CL_INVALID_IMAGE_DESCRIPTOR);
  create_memory(session, command, message.id(), size, 0, [&](void* contents, cl_int* error) {
    return session.cl.clCreateImage(context, driver_flags(message.flags(), filled), &format, &desc, contents,
                                    error);
  });
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreatePipe& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  const std::uint64_t size = std::uint64_t{message.packet_size()} * message.max_packets();
  cl_int error = session.reserve_memory(size);
  if (error != CL_SUCCESS) return session.reply(command, message.id(), error);
  const cl_mem pipe = session.cl.clCreatePipe(context, message.flags(), message.packet_size(),
                                              message.max_packets(), nullptr, &error);
  session.memory.settle(session.cl, pipe, error, size);
  session.register_created(command, message.id(), {Kind::memory, pipe}, error);
}

}  // namespace cleave::remote::server
