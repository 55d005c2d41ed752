// The client as the library of an ICD vendor: what loaders look for by name.
//
// Source: cl_khr_icd 2.0.
#include <pthread.h>

#include "remote/client/api/api.h"
#include "remote/client/objects/client.h"

#define CLEAVE_EXPORT extern "C" __attribute__((visibility("default")))

namespace own = cleave::remote::client;

CLEAVE_EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  return own::clGetExtensionFunctionAddress(name);
}

CLEAVE_EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* platforms,
                                                        cl_uint* count) {
  return own::clGetPlatformIDs(entries, platforms, count);
}

CLEAVE_EXPORT void* CL_API_CALL clIcdGetFunctionAddressForPlatformKHR(cl_platform_id platform,
                                                                      const char* name) {
  return own::clGetExtensionFunctionAddressForPlatform(platform, name);
}

CLEAVE_EXPORT cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void* data) {
  return own::clIcdSetPlatformDispatchDataKHR(platform, data);
}

namespace {

__attribute__((constructor)) void arrive() {
  pthread_atfork([] { own::before_fork(); }, [] { own::after_fork_in_parent(); },
                 [] { own::after_fork_in_child(); });
}

// What was enqueued and not waited for still goes.
__attribute__((destructor)) void leave() { own::flush_all(); }

}  // namespace
