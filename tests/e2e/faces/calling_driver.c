/* A driver that calls OpenCL itself: while it is being loaded, and when it is asked for its platforms (it has
 * none). Drivers that are built on another driver do so. */
#define _GNU_SOURCE
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void call_opencl(const char* when) {
  cl_uint platforms = 0;
  const cl_int linked = clGetPlatformIDs(0, NULL, &platforms);
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, "clGetPlatformIDs") : NULL;
  __typeof__(&clGetPlatformIDs) opened;
  memcpy(&opened, &symbol, sizeof opened);
  const cl_int found = symbol != NULL ? opened(0, NULL, &platforms) : CL_SUCCESS;
  fprintf(stderr, "driver, %s: %s\n", when, linked == found ? "answered twice alike" : "two answers");
}

__attribute__((constructor)) static void load(void) { call_opencl("loaded"); }

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  static int inside;
  (void)entries;
  (void)platforms;
  if (!inside) {
    inside = 1;
    call_opencl("asked for platforms");
    inside = 0;
  }
  if (count != NULL) *count = 0;
  return -1001; /* CL_PLATFORM_NOT_FOUND_KHR */
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t size,
                                            void* value, size_t* size_ret) {
  (void)platform;
  (void)name;
  (void)size;
  (void)value;
  (void)size_ret;
  return CL_INVALID_PLATFORM;
}

EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  void* symbol = NULL;
  const __typeof__(&clGetPlatformInfo) info = clGetPlatformInfo;
  if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) {
    cl_int(CL_API_CALL * get)(cl_uint, cl_platform_id*, cl_uint*) = clIcdGetPlatformIDsKHR;
    memcpy(&symbol, &get, sizeof symbol);
  } else if (strcmp(name, "clGetPlatformInfo") == 0) {
    memcpy(&symbol, &info, sizeof symbol);
  }
  return symbol;
}
