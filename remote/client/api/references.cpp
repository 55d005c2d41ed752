// Retaining and releasing. References are counted here; the server only learns of an object's end.
#include "remote/client/api/api.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

using Left = objects::Objects::Remaining;

template <objects::OpenClHandle Handle>
cl_int retain(Handle handle) {
  Object* const object = find(handle);
  return object != nullptr && client.objects.retain(*object) ? CL_SUCCESS : objects::KindOf<Handle>::invalid;
}

// A child process may release the objects of its parent, which has no effect.
template <objects::OpenClHandle Handle>
cl_int no_object_to_release(Handle handle) {
  return client.objects.is_disowned(handle) ? CL_SUCCESS : objects::KindOf<Handle>::invalid;
}

template <objects::OpenClHandle Handle>
cl_int release(Handle handle) {
  Object* const object = find(handle);
  if (object == nullptr) return no_object_to_release(handle);
  const Left left = client.objects.release(*object);
  if (left == Left::invalid) return objects::KindOf<Handle>::invalid;
  if (left == Left::none) client.objects.reap(*object);
  return CL_SUCCESS;
}

}  // namespace

#define CLEAVE_COUNTED(Retain, Release, Handle)                       \
  cl_int CL_API_CALL Retain(Handle handle) { return retain(handle); } \
  cl_int CL_API_CALL Release(Handle handle) { return release(handle); }
CLEAVE_COUNTED(clRetainDevice, clReleaseDevice, cl_device_id)
CLEAVE_COUNTED(clRetainDeviceEXT, clReleaseDeviceEXT, cl_device_id)
CLEAVE_COUNTED(clRetainContext, clReleaseContext, cl_context)
CLEAVE_COUNTED(clRetainMemObject, clReleaseMemObject, cl_mem)
CLEAVE_COUNTED(clRetainSampler, clReleaseSampler, cl_sampler)
CLEAVE_COUNTED(clRetainProgram, clReleaseProgram, cl_program)
CLEAVE_COUNTED(clRetainKernel, clReleaseKernel, cl_kernel)
CLEAVE_COUNTED(clRetainEvent, clReleaseEvent, cl_event)
#undef CLEAVE_COUNTED

cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue handle) { return retain(handle); }

// Implies a flush.
cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue handle) {
  Object* const object = find(handle);
  if (object == nullptr) return no_object_to_release(handle);
  const auto connection = state_of<QueueState>(*object).connection->shared_from_this();
  const cl_int error = release(handle);
  connection->flush();
  return error;
}

}  // namespace cleave::remote::client
