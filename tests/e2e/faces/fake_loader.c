/* A library that stands for an OpenCL loader: it has no platforms, and says where it lies. As tracers do, it passes calls on to
 * the library of the loader's name (FORWARDS), or to whatever comes next (NEXT). It has only one of the functions (PARTIAL), is
 * a driver (DRIVER), or says when it is loaded (SAYS). */
#define _GNU_SOURCE
#include <CL/cl.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void* next_function(const char* name) {
#if defined(FORWARDS)
  return dlsym(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), name);
#elif defined(NEXT)
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol == NULL) abort(); /* it relies on the loader that its program has */
  return symbol;
#else
  (void)name;
  return NULL;
#endif
}

EXPORT cl_int CL_API_CALL clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  cl_int(CL_API_CALL * next)(cl_uint, cl_platform_id*, cl_uint*);
  void* symbol = next_function("clGetPlatformIDs");
  memcpy(&next, &symbol, sizeof next);
  if (next != NULL) return next(entries, platforms, count);
  if (count != NULL) *count = 0;
  return CL_SUCCESS;
}

#ifdef SAYS
__attribute__((constructor)) static void say(void) { puts("loaded"); }
#endif

#ifdef DRIVER
EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  return clGetPlatformIDs(entries, platforms, count);
}
#endif

#ifndef PARTIAL
EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t size,
                                            void* value, size_t* needed) {
  cl_int(CL_API_CALL * next)(cl_platform_id, cl_platform_info, size_t, void*, size_t*);
  void* symbol = next_function("clGetPlatformInfo");
  memcpy(&next, &symbol, sizeof next);
  if (next != NULL) return next(platform, name, size, value, needed);
  Dl_info info;
  char path[PATH_MAX];
  static const char here;
  if (dladdr(&here, &info) == 0 || realpath(info.dli_fname, path) == NULL) return CL_INVALID_VALUE;
  const size_t length = strlen(path) + 1;
  if (needed != NULL) *needed = length;
  if (value == NULL) return CL_SUCCESS;
  if (size < length) return CL_INVALID_VALUE;
  memcpy(value, path, length);
  return CL_SUCCESS;
}
#endif
