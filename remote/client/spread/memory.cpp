// Buffers and images: one on each server, and which of them are the newest (contents.h).
#include "remote/client/memory.h"

#include <array>
#include <atomic>

#include "remote/client/spread/api.h"
#include "remote/client/spread/bodies.h"
#include "remote/client/spread/contents.h"

namespace cleave::remote::client::spread {
namespace {

// All of a body but what belongs to one connection.
void copy_facts(MemoryBody& to, const MemoryBody& from) {
  to.type = from.type;
  to.flags = from.flags;
  to.size = from.size;
  to.origin = from.origin;
  to.host = from.host;
  to.properties = from.properties;
  to.format = from.format;
  to.description = from.description;
  to.pixel = from.pixel;
  to.row_pitch = from.row_pitch;
  to.slice_pitch = from.slice_pitch;
}

WholeMemory& whole_of(cl_mem handle) { return body_of<WholeMemory>(*find(handle)); }

// A new object has its contents on all servers: those that the program gave, or none.
std::shared_ptr<Contents> contents_of(const WholeMemory& memory, const WholeContext& context) {
  auto contents = std::make_shared<Contents>();
  contents->ordering = context.ordering;
  for (const cl_mem part : memory.parts) {
    contents->copies.emplace_back();
    contents->copies.back().memory = part;
  }
  return contents;
}

// Makes a buffer or an image below `above`, another one that it lies on, if there is one.
template <typename Make>
cl_mem create_memory(Object& context, Object* above, cl_int* error_ret, Make make) {
  const cl_mem made = create<WholeMemory>(context, above != nullptr ? *above : context, error_ret, make,
                                          [&](WholeMemory& body, const MemoryBody& part) {
                                            copy_facts(body, part);
                                            body.context = &context;
                                            body.parent = above;
                                          });
  if (made == nullptr) return made;
  WholeMemory& whole = whole_of(made);
  whole.contents =
      above != nullptr ? body_of<WholeMemory>(*above).contents : contents_of(whole, context_of(context));
  return made;
}

template <typename MakeImage>
cl_mem create_image(cl_context handle, const cl_image_desc* desc, cl_int* error_ret, MakeImage make) {
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  Object* const above = desc == nullptr || desc->mem_object == nullptr ? nullptr : find(desc->mem_object);
  const bool is_wrong = desc != nullptr && desc->mem_object != nullptr &&
                        (above == nullptr || body_of<MemoryBody>(*above).context != &context);
  if (is_wrong) return fail<cl_mem>(error_ret, CL_INVALID_IMAGE_DESCRIPTOR);
  return create_memory(context, above, error_ret, [&](std::size_t part, cl_int& error) -> cl_mem {
    cl_image_desc one = desc == nullptr ? cl_image_desc{} : *desc;
    if (above != nullptr) one.mem_object = body_of<WholeMemory>(*above).parts[part];
    if (above != nullptr && one.mem_object == nullptr) return error = kGone, nullptr;
    return make(of.parts[part], desc == nullptr ? nullptr : &one, error);
  });
}

// The program's functions for the object's end are called with the end of the last of its parts.
struct Ends {
  std::atomic<std::size_t> left;
  std::vector<EndCalls<cl_mem>::Call> calls;
  cl_mem handle;

  void one_less() {
    if (left.fetch_sub(1) != 1) return;
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) call->function(handle, call->user_data);
  }
  static void CL_CALLBACK part_ended(cl_mem, void* data) {
    const std::unique_ptr<std::shared_ptr<Ends>> ends(static_cast<std::shared_ptr<Ends>*>(data));
    (*ends)->one_less();
  }
};

}  // namespace

WholeMemory::~WholeMemory() {
  if (at_end.calls.empty()) return;
  const auto ends = std::make_shared<Ends>();
  ends->left = parts.size() + 1;
  ends->calls = std::move(at_end.calls);
  ends->handle = handle;
  for (const cl_mem part : parts) {
    auto kept = std::make_unique<std::shared_ptr<Ends>>(ends);
    if (part != nullptr &&
        client::clSetMemObjectDestructorCallback(part, &Ends::part_ended, kept.get()) == CL_SUCCESS) {
      static_cast<void>(kept.release());
    } else {
      ends->left.fetch_sub(1);
    }
  }
  client.callbacks.post([ends] { ends->one_less(); });
}

cl_mem CL_API_CALL clCreateBuffer(cl_context handle, cl_mem_flags flags, size_t size, void* host,
                                  cl_int* error_ret) {
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  return create_memory(context, nullptr, error_ret, [&](std::size_t part, cl_int& error) {
    return client::clCreateBuffer(of.parts[part], flags, size, host, &error);
  });
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context handle, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host,
                                                cl_int* error_ret) {
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  return create_memory(context, nullptr, error_ret, [&](std::size_t part, cl_int& error) {
    return client::clCreateBufferWithProperties(of.parts[part], properties, flags, size, host, &error);
  });
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* create_info, cl_int* error_ret) {
  Object& above = *find(handle);
  const WholeMemory& of = body_of<WholeMemory>(above);
  return create_memory(*of.context, &above, error_ret, [&](std::size_t part, cl_int& error) -> cl_mem {
    if (of.parts[part] == nullptr) return error = kGone, nullptr;
    return client::clCreateSubBuffer(of.parts[part], flags, type, create_info, &error);
  });
}

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* desc, void* host, cl_int* error_ret) {
  return create_image(context, desc, error_ret,
                      [&](cl_context part, const cl_image_desc* one, cl_int& error) {
                        return client::clCreateImage(part, flags, format, one, host, &error);
                      });
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* format,
                                               const cl_image_desc* desc, void* host, cl_int* error_ret) {
  return create_image(
      context, desc, error_ret, [&](cl_context part, const cl_image_desc* one, cl_int& error) {
        return client::clCreateImageWithProperties(part, properties, flags, format, one, host, &error);
      });
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t row_pitch, void* host,
                                   cl_int* error_ret) {
  return create_image(context, nullptr, error_ret, [&](cl_context part, const cl_image_desc*, cl_int& error) {
    return client::clCreateImage2D(part, flags, format, width, height, row_pitch, host, &error);
  });
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t depth, size_t row_pitch,
                                   size_t slice_pitch, void* host, cl_int* error_ret) {
  return create_image(context, nullptr, error_ret, [&](cl_context part, const cl_image_desc*, cl_int& error) {
    return client::clCreateImage3D(part, flags, format, width, height, depth, row_pitch, slice_pitch, host,
                                   &error);
  });
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                      size_t* size_ret) {
  if (name != CL_MEM_MAP_COUNT) return client::clGetMemObjectInfo(handle, name, size, value, size_ret);
  std::size_t count = 0;
  for (const cl_mem part : whole_of(handle).parts) {
    if (part == nullptr) continue;
    MemoryBody& body = body_of<MemoryBody>(*find(part));
    const std::scoped_lock lock(body.mutex);
    count += body.mappings.size();
  }
  return Answer{size, value, size_ret}.give(static_cast<cl_uint>(count));
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK* function)(cl_mem, void*),
                                                    void* user_data) {
  if (function == nullptr) return CL_INVALID_VALUE;
  WholeMemory& whole = whole_of(handle);
  const std::scoped_lock lock(whole.at_end.mutex);
  whole.handle = handle;
  whole.at_end.calls.push_back({function, user_data});
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client::spread
