// Memory objects: images created from other memory objects, property lists that name devices, and queries.
#include "icd/vendor/functions.h"
#include "icd/vendor/handle_queries.h"

namespace cleave::vendor {
namespace {

// Properties of cl_khr_external_memory (a list of devices that ends in 0) and of cl_intel_create_buffer_with_properties
// (one device).
constexpr cl_mem_properties kDeviceHandleList = 0x2051;
constexpr cl_mem_properties kDeviceIntel = 0x4219;
constexpr cl_uint kAllocationDevice = 0x419D;  // CL_MEM_ALLOC_DEVICE_INTEL

// A property list with devices in it is rare and short.
constexpr std::size_t kMaxProperties = 128;

class MemoryProperties {
 public:
  // CL_INVALID_DEVICE if the list names a device that is not ours, CL_INVALID_PROPERTY if it is too long.
  cl_int take(const cl_mem_properties* given) {
    if (given == nullptr) return CL_SUCCESS;
    list_ = copy_;
    std::size_t at = 0;
    while (given[at] != 0) {
      if (at + 2 >= kMaxProperties) return CL_INVALID_PROPERTY;
      const cl_mem_properties key = given[at];
      copy_[at] = key;
      ++at;
      if (key == kDeviceHandleList) {
        for (; given[at] != 0; ++at) {
          if (at + 2 >= kMaxProperties) return CL_INVALID_PROPERTY;
          if (!translate(given[at], copy_[at])) return CL_INVALID_DEVICE;
        }
        copy_[at++] = 0;
      } else if (key == kDeviceIntel && given[at] != 0) {
        if (!translate(given[at], copy_[at])) return CL_INVALID_DEVICE;
        ++at;
      } else {
        copy_[at] = given[at];
        ++at;
      }
    }
    copy_[at] = 0;
    return CL_SUCCESS;
  }
  [[nodiscard]] const cl_mem_properties* raw() const { return list_; }

 private:
  static bool translate(cl_mem_properties given, cl_mem_properties& raw) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): so are handles in property lists
    const Object* const device = vendor.objects.find(reinterpret_cast<cl_device_id>(given));
    if (device == nullptr) return false;
    raw = reinterpret_cast<cl_mem_properties>(objects::raw_of(*device));
    return true;
  }

  const cl_mem_properties* list_ = nullptr;
  cl_mem_properties copy_[kMaxProperties];
};

// Replaces the memory object in an image's description by the driver's. False if it is not one of ours.
bool translate(const cl_image_desc* given, cl_image_desc& copy, const cl_image_desc*& raw, Object*& other) {
  raw = given;
  other = nullptr;
  if (given == nullptr || given->mem_object == nullptr) return true;
  other = vendor.objects.find(given->mem_object);
  if (other == nullptr) return false;
  copy = *given;
  copy.mem_object = static_cast<cl_mem>(objects::raw_of(*other));
  raw = &copy;
  return true;
}

cl_context raw_context(const Object& context) { return static_cast<cl_context>(objects::raw_of(context)); }

// Creates a memory object, on that of the description if this names one. make(context, properties, description) calls the driver.
template <typename Make>
cl_mem create(cl_context handle, const cl_mem_properties* properties, const cl_image_desc* description,
              cl_int* error_ret, Make make) {
  Object* const context = vendor.objects.find(handle);
  if (context == nullptr) return fail<cl_mem>(CL_INVALID_CONTEXT, error_ret);
  MemoryProperties list;
  const cl_int error = list.take(properties);
  if (error != CL_SUCCESS) return fail<cl_mem>(error, error_ret);
  cl_image_desc copy;
  const cl_image_desc* raw = nullptr;
  Object* other = nullptr;
  if (!translate(description, copy, raw, other)) return fail<cl_mem>(CL_INVALID_IMAGE_DESCRIPTOR, error_ret);
  Object* const made = vendor.objects.prepare(Kind::memory, *context);
  if (made == nullptr) return fail<cl_mem>(CL_OUT_OF_HOST_MEMORY, error_ret);
  if (other != nullptr) vendor.objects.add_parent(*made, *other);
  return finish_creation<cl_mem>(*made, make(*context, list.raw(), raw));
}

}  // namespace

cl_mem CL_API_CALL clCreateImage(cl_context handle, cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* description, void* host, cl_int* error_ret) {
  return create(handle, nullptr, description, error_ret, [&](Object& context, auto, auto raw) {
    return vendor.next->clCreateImage(raw_context(context), flags, format, raw, host, error_ret);
  });
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context handle, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* format,
                                               const cl_image_desc* description, void* host,
                                               cl_int* error_ret) {
  return create(handle, properties, description, error_ret, [&](Object& context, auto list, auto raw) {
    return vendor.next->clCreateImageWithProperties(raw_context(context), list, flags, format, raw, host,
                                                    error_ret);
  });
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context handle, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host,
                                                cl_int* error_ret) {
  return create(handle, properties, nullptr, error_ret, [&](Object& context, auto list, auto) {
    return vendor.next->clCreateBufferWithProperties(raw_context(context), list, flags, size, host,
                                                     error_ret);
  });
}

cl_mem CL_API_CALL clCreateBufferWithPropertiesINTEL(cl_context handle, const cl_properties* properties,
                                                     cl_mem_flags flags, size_t size, void* host,
                                                     cl_int* error_ret) {
  return create(handle, properties, nullptr, error_ret, [&](Object& context, auto list, auto) {
    return next_function<&ExtensionFunctions::clCreateBufferWithPropertiesINTEL>(context)(
        raw_context(context), list, flags, size, host, error_ret);
  });
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                      size_t* size_ret) {
  using Asked =
      HandleQuery<&Table::clGetMemObjectInfo, handles::answers(handles::context(CL_MEM_CONTEXT),
                                                               handles::memory(CL_MEM_ASSOCIATED_MEMOBJECT))>;
  if (name != CL_MEM_PROPERTIES || value == nullptr) return Asked::call(handle, name, size, value, size_ret);
  Object* const object = vendor.objects.find(handle);
  if (object == nullptr) return CL_INVALID_MEM_OBJECT;
  size_t answered = 0;
  const cl_int error = vendor.next->clGetMemObjectInfo(static_cast<cl_mem>(objects::raw_of(*object)), name,
                                                       size, value, &answered);
  if (error != CL_SUCCESS) return error;
  if (size_ret != nullptr) *size_ret = answered;
  auto* const list = static_cast<cl_mem_properties*>(value);
  const std::size_t count = answered / sizeof *list;
  for (std::size_t at = 0; at < count && list[at] != 0;) {
    const cl_mem_properties key = list[at++];
    if (key == kDeviceHandleList) {
      for (; at < count && list[at] != 0; ++at) wrap_handles(Kind::device, list + at, sizeof *list, *object);
    } else if (key == kDeviceIntel && at < count) {
      wrap_handles(Kind::device, list + at, sizeof *list, *object);
    }
    ++at;
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetMemAllocInfoINTEL(cl_context handle, const void* memory, cl_uint name, size_t size,
                                          void* value, size_t* size_ret) {
  Object* const context = vendor.objects.find(handle);
  if (context == nullptr) return CL_INVALID_CONTEXT;
  return query_handles(*context, handles::answers(handles::device(kAllocationDevice)), name, value, size_ret,
                       [&](size_t* answered) {
                         return next_function<&ExtensionFunctions::clGetMemAllocInfoINTEL>(*context)(
                             raw_context(*context), memory, name, size, value, answered);
                       });
}

}  // namespace cleave::vendor
