/* A second layer: counts launches, and prints their number at exit. Below Cleave it counts what the driver gets. */
#include <CL/cl_layer.h>

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static cl_icd_dispatch table;
static const cl_icd_dispatch* next;
static int launches;

static cl_int CL_API_CALL count_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                       const size_t* offset, const size_t* global, const size_t* local,
                                       cl_uint waits, const cl_event* wait_list, cl_event* event) {
  ++launches;
  return next->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, wait_list, event);
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value, size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (name != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (value != NULL && size < sizeof version) return CL_INVALID_VALUE;
  if (value != NULL) memcpy(value, &version, sizeof version);
  if (size_ret != NULL) *size_ret = sizeof version;
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                                      const cl_icd_dispatch** table_ret) {
  const cl_uint known = sizeof table / sizeof(void*);
  const cl_uint common = entries < known ? entries : known;
  memcpy(&table, target, common * sizeof(void*));
  table.clEnqueueNDRangeKernel = count_launch;
  next = target;
  *entries_ret = common;
  *table_ret = &table;
  return CL_SUCCESS;
}

__attribute__((destructor)) static void print_count(void) {
  fprintf(stderr, "counting layer: %d\n", launches);
}
