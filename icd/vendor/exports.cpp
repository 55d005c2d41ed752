// The functions that loaders look up in an ICD vendor's library. No decisions here.
//
// Source: cl_khr_icd 2.0.

#include <pthread.h>

#include "base/fork_locks.h"
#include "base/no_destructor.h"
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

// Never destroyed, and made at the first fork: programs may fork before and after the library's static objects exist.
cleave::base::ForkLocks& fork_locks() {
  static cleave::base::NoDestructor<cleave::base::ForkLocks> locks([] {
    cleave::base::ForkLocks made;
    made.add(cleave::base::ForkOrder::objects, cleave::vendor::vendor.objects);
    return made;
  }());
  return *locks;
}

__attribute__((constructor)) void arrive() {
  cleave::interpose::at_load();
  pthread_atfork([] { fork_locks().before_fork(); }, [] { fork_locks().after_fork_in_parent(); },
                 [] { fork_locks().after_fork_in_child(); });
}

// Destructors of a library that the loader loads run after the program's own.
__attribute__((destructor)) void leave() { cleave::interpose::at_exit(); }

}  // namespace
