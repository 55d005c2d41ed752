// Contexts and sub-devices: noted, since calls of our own on them are made only while the program has them.

#include <algorithm>

#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"

namespace cleave::interpose {
namespace {

// The program has received a context.
cl_context noted(Interposer& p, cl_context context) noexcept {
  try {
    if (context != nullptr) p.records.contexts.add(context, {});
  } catch (...) {  // out of memory: no call of our own is made on it
  }
  return context;
}

template <typename Create, typename Property>
cl_int create_sub_devices(Create create, cl_device_id device, const Property* properties, cl_uint room,
                          cl_device_id* devices, cl_uint* count) noexcept {
  cl_uint made = 0;
  cl_uint* const into = count != nullptr ? count : &made;
  const cl_int error = create(device, properties, room, devices, into);
  if (error == CL_SUCCESS && devices != nullptr)
    interposer().devices.add_sub_devices(device, {devices, std::min(room, *into)});
  return error;
}

}  // namespace

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* devices,
                                       void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                       void* data, cl_int* error) noexcept {
  Interposer& p = interposer();
  return noted(p, p.next.clCreateContext(properties, count, devices, notify, data, error));
}

cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                               void(CL_CALLBACK* notify)(const char*, const void*, size_t,
                                                                         void*),
                                               void* data, cl_int* error) noexcept {
  Interposer& p = interposer();
  return noted(p, p.next.clCreateContextFromType(properties, type, notify, data, error));
}

cl_int CL_API_CALL clCreateSubDevices(cl_device_id device, const cl_device_partition_property* properties,
                                      cl_uint room, cl_device_id* devices, cl_uint* count) noexcept {
  return create_sub_devices(interposer().next.clCreateSubDevices, device, properties, room, devices, count);
}

cl_int CL_API_CALL clCreateSubDevicesEXT(cl_device_id device,
                                         const cl_device_partition_property_ext* properties, cl_uint room,
                                         cl_device_id* devices, cl_uint* count) noexcept {
  return create_sub_devices(interposer().next.clCreateSubDevicesEXT, device, properties, room, devices,
                            count);
}

}  // namespace cleave::interpose
