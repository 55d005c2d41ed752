// The functions that loaders look up in an ICD vendor's library. No decisions here.
//
// Source: cl_khr_icd 2.0.

#include <pthread.h>

#include "icd/vendor/functions.h"
#include "icd/vendor/loader_interface.h"
#include "interpose/calls/table.h"

#define CLEAVE_EXPORT extern "C" __attribute__((visibility("default")))

CLEAVE_EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  return cleave::vendor::clGetExtensionFunctionAddress(name);
}

CLEAVE_EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* platforms,
                                                        cl_uint* count) {
  return cleave::vendor::clGetPlatformIDs(entries, platforms, count);
}

CLEAVE_EXPORT void* CL_API_CALL clIcdGetFunctionAddressForPlatformKHR(cl_platform_id platform,
                                                                      const char* name) {
  return cleave::vendor::clGetExtensionFunctionAddressForPlatform(platform, name);
}

CLEAVE_EXPORT cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void* data) {
  return cleave::vendor::set_platform_dispatch_data(platform, data);
}

namespace {

__attribute__((constructor)) void arrive() {
  cleave::interpose::at_load();
  pthread_atfork([] { cleave::vendor::vendor.objects.lock(); },
                 [] { cleave::vendor::vendor.objects.unlock(); },
                 [] { cleave::vendor::vendor.objects.unlock(); });
}

// Destructors of a library that the loader loads run after the program's own.
__attribute__((destructor)) void leave() { cleave::interpose::at_exit(); }

}  // namespace
