// The exported functions of the client as an ICD vendor's library.
//
// Source: cl_khr_icd 2.0.
#include <pthread.h>

#include "remote/client/api/api.h"
#include "remote/client/library/startup.h"

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

__attribute__((constructor)) void on_load() {
  pthread_atfork([] { own::before_fork(); }, [] { own::after_fork_in_parent(); },
                 [] { own::after_fork_in_child(); });
}

// Commands that were enqueued and not waited for are still sent.
__attribute__((destructor)) void on_unload() { own::flush_all(); }

}  // namespace
