// Contexts: property lists that may name a platform, and queries that answer with devices and such lists.
#include "icd/vendor/functions.h"
#include "icd/vendor/handle_queries.h"

namespace cleave::vendor {
namespace {

// A copy of a property list, with the driver's platform in it.
class ContextProperties {
 public:
  // CL_INVALID_PLATFORM if the list names a platform that is not ours.
  cl_int take(const cl_context_properties* given) {
    if (given == nullptr) return CL_SUCCESS;
    std::size_t count = 0;
    while (given[count] != 0) count += 2;
    if (count + 1 > kFew)
      more_ = static_cast<cl_context_properties*>(std::malloc((count + 1) * sizeof *given));
    if (count + 1 > kFew && more_ == nullptr) return CL_OUT_OF_HOST_MEMORY;
    cl_context_properties* const list = more_ != nullptr ? more_ : few_;
    std::copy_n(given, count + 1, list);
    list_ = list;
    for (std::size_t i = 0; i < count; i += 2) {
      if (list[i] != CL_CONTEXT_PLATFORM) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): so are handles in property lists
      platform_ = vendor.objects.find(reinterpret_cast<cl_platform_id>(list[i + 1]));
      if (platform_ == nullptr) return CL_INVALID_PLATFORM;
      list[i + 1] = reinterpret_cast<cl_context_properties>(objects::raw_of(*platform_));
    }
    return CL_SUCCESS;
  }
  // Not a destructor (translate.h says why).
  void end() { std::free(more_); }

  [[nodiscard]] const cl_context_properties* raw() const { return list_; }
  // The platform in the list, else the first one; null if there is none.
  [[nodiscard]] Object* platform() const {
    return platform_ != nullptr ? platform_ : vendor.platforms[0].platform;
  }

 private:
  static constexpr std::size_t kFew = 33;
  const cl_context_properties* list_ = nullptr;
  cl_context_properties* more_ = nullptr;
  Object* platform_ = nullptr;
  cl_context_properties few_[kFew];
};

// An unpublished context that holds its devices. Null if there is no memory.
Object* prepare_context(cl_uint count, const cl_device_id* devices, Object* platform) {
  const bool named = count != 0 && devices != nullptr;
  Object* const first = named ? vendor.objects.find(devices[0]) : platform;
  Object* const made = first == nullptr ? nullptr : vendor.objects.prepare(Kind::context, *first);
  for (cl_uint i = 1; named && made != nullptr && i < count; ++i) {
    Object* const device = vendor.objects.find(devices[i]);
    if (!device->root && !vendor.objects.add_parent(*made, *device))
      return vendor.objects.discard(*made), nullptr;
  }
  return made;
}

cl_context create(const ContextProperties& properties, cl_uint count, const cl_device_id* devices,
                  const cl_device_id* raw_devices, ContextNotify notify, void* user_data, cl_int* error_ret) {
  if (properties.platform() == nullptr) return fail<cl_context>(CL_INVALID_PLATFORM, error_ret);
  Object* const made = prepare_context(count, devices, properties.platform());
  if (made == nullptr) return fail<cl_context>(CL_OUT_OF_HOST_MEMORY, error_ret);
  return finish_creation(*made, vendor.next->clCreateContext(properties.raw(), count, raw_devices, notify,
                                                             user_data, error_ret));
}

}  // namespace

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* devices, ContextNotify notify, void* user_data,
                                       cl_int* error_ret) {
  ContextProperties list;
  HandleListArgument<cl_device_id, CL_INVALID_DEVICE> raw_devices;
  const cl_int list_error = list.take(properties);
  const cl_int device_error = raw_devices.take(devices, count);
  const cl_int error = list_error != CL_SUCCESS ? list_error : device_error;
  cl_context const made = error != CL_SUCCESS
                              ? fail<cl_context>(error, error_ret)
                              : create(list, count, devices, raw_devices.raw(), notify, user_data, error_ret);
  list.end();
  raw_devices.end();
  return made;
}

cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                               ContextNotify notify, void* user_data, cl_int* error_ret) {
  ContextProperties list;
  cl_int error = list.take(properties);
  if (error == CL_SUCCESS && list.platform() == nullptr) error = CL_INVALID_PLATFORM;
  Object* const made =
      error == CL_SUCCESS ? vendor.objects.prepare(Kind::context, *list.platform()) : nullptr;
  if (error == CL_SUCCESS && made == nullptr) error = CL_OUT_OF_HOST_MEMORY;
  cl_context const context =
      error != CL_SUCCESS ? fail<cl_context>(error, error_ret)
                          : finish_creation(*made, vendor.next->clCreateContextFromType(
                                                       list.raw(), type, notify, user_data, error_ret));
  list.end();
  return context;
}

cl_int CL_API_CALL clGetContextInfo(cl_context handle, cl_context_info name, size_t size, void* value,
                                    size_t* size_ret) {
  Object* const object = vendor.objects.find(handle);
  if (object == nullptr) return CL_INVALID_CONTEXT;
  auto* const raw = static_cast<cl_context>(objects::raw_of(*object));
  size_t answered = 0;
  const cl_int error = vendor.next->clGetContextInfo(raw, name, size, value, &answered);
  if (error != CL_SUCCESS) return error;
  if (size_ret != nullptr) *size_ret = answered;
  if (value == nullptr) return CL_SUCCESS;
  if (name == CL_CONTEXT_DEVICES) return wrap_handles(Kind::device, value, answered, *object);
  if (name != CL_CONTEXT_PROPERTIES) return CL_SUCCESS;
  constexpr std::size_t kPair = 2 * sizeof(cl_context_properties);
  for (auto* pair = static_cast<std::byte*>(value); answered >= kPair; answered -= kPair, pair += kPair) {
    cl_context_properties key = 0;
    std::memcpy(&key, pair, sizeof key);
    if (key == CL_CONTEXT_PLATFORM) wrap_handles(Kind::platform, pair + sizeof key, sizeof key, *object);
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetGLContextInfoKHR(const cl_context_properties* properties, cl_gl_context_info name,
                                         size_t size, void* value, size_t* size_ret) {
  ContextProperties list;
  cl_int error = list.take(properties);
  if (error == CL_SUCCESS && list.platform() == nullptr) error = CL_INVALID_PLATFORM;
  if (error == CL_SUCCESS) {
    error =
        query_handles(*list.platform(),
                      handles::answers(handles::device(CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR),
                                       handles::device(CL_DEVICES_FOR_GL_CONTEXT_KHR)),
                      name, value, size_ret, [&](size_t* answered) {
                        return vendor.next->clGetGLContextInfoKHR(list.raw(), name, size, value, answered);
                      });
  }
  list.end();
  return error;
}

}  // namespace cleave::vendor
