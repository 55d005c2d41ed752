/* all_object_types LOADER: opens that OpenCL loader and uses every type of object on its first platform. Prints what each
 * call returns, and whether queries return the very handles that were created; never an address. */
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void* loader;

/* The loader's function NAME. */
#define CL(name) ((__typeof__(&name))find(#name))

static void (*find(const char* name))(void) {
  void* found = dlsym(loader, name);
  if (found == NULL) printf("%s is missing\n", name);
  void (*function)(void);
  memcpy(&function, &found, sizeof function);
  return function;
}

static void print_error(const char* what, cl_int error) { printf("%s: %d\n", what, error); }
static void same(const char* what, const void* answer, const void* expected) {
  printf("%s: %s\n", what, answer == expected ? "the same" : "another");
}

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_int error;

static void* query_result;
#define QUERY(function, object, name) \
  (query_result = NULL,               \
   print_error(#name, CL(function)(object, name, sizeof query_result, &query_result, NULL)), query_result)

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void* data) {
  same("callback's event", event, *(cl_event*)data);
  print_error("callback's status", status);
}

static void platforms(void) {
  cl_platform_id platform = NULL;
  cl_uint count = 0;
  print_error("clGetPlatformIDs", CL(clGetPlatformIDs)(1, &platform, &count));
  print_error("clGetDeviceIDs", CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count));
  same("device's platform", QUERY(clGetDeviceInfo, device, CL_DEVICE_PLATFORM), platform);
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
  context = CL(clCreateContext)(properties, 1, &device, NULL, NULL, &error);
  print_error("clCreateContext", error);
  same("context's device", QUERY(clGetContextInfo, context, CL_CONTEXT_DEVICES), device);
  queue = CL(clCreateCommandQueue)(context, device, 0, &error);
  print_error("clCreateCommandQueue", error);
  same("queue's context", QUERY(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT), context);
  same("queue's device", QUERY(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE), device);
  print_error("clUnloadPlatformCompiler", CL(clUnloadPlatformCompiler)(platform));
}

static void sub_devices(void) {
  const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 8, 0};
  cl_device_id parts[2] = {NULL, NULL};
  print_error("clCreateSubDevices", CL(clCreateSubDevices)(device, halves, 2, parts, NULL));
  same("part's parent", QUERY(clGetDeviceInfo, parts[0], CL_DEVICE_PARENT_DEVICE), device);
  for (int i = 0; i < 2; ++i) print_error("clReleaseDevice", CL(clReleaseDevice)(parts[i]));
  print_error("clRetainDevice, of a released device", CL(clRetainDevice)(parts[0]));
}

static void memory(void) {
  unsigned char bytes[64] = {1, 2, 3};
  cl_mem buffer = CL(clCreateBuffer)(context, CL_MEM_COPY_HOST_PTR, sizeof bytes, bytes, &error);
  print_error("clCreateBuffer", error);
  const cl_buffer_region region = {0, 32};
  cl_mem part = CL(clCreateSubBuffer)(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  print_error("clCreateSubBuffer", error);
  same("part's buffer", QUERY(clGetMemObjectInfo, part, CL_MEM_ASSOCIATED_MEMOBJECT), buffer);
  cl_event read = NULL;
  print_error("clEnqueueReadBuffer",
              CL(clEnqueueReadBuffer)(queue, part, CL_FALSE, 0, 4, bytes + 32, 0, NULL, &read));
  void* mapped = CL(clEnqueueMapBuffer)(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 1, &read, NULL, &error);
  print_error("clEnqueueMapBuffer", error);
  printf("bytes: %d %d\n", bytes[32], ((unsigned char*)mapped)[2]);
  print_error("clEnqueueUnmapMemObject", CL(clEnqueueUnmapMemObject)(queue, buffer, mapped, 0, NULL, NULL));
  print_error("clFinish", CL(clFinish)(queue));
  print_error("clReleaseEvent", CL(clReleaseEvent)(read));
  print_error("clReleaseEvent, of a released event", CL(clReleaseEvent)(read));
  cl_sampler sampler = CL(clCreateSampler)(context, CL_TRUE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &error);
  print_error("clCreateSampler", error);
  same("sampler's context", QUERY(clGetSamplerInfo, sampler, CL_SAMPLER_CONTEXT), context);
  print_error("clReleaseSampler", CL(clReleaseSampler)(sampler));
  print_error("clReleaseMemObject", CL(clReleaseMemObject)(buffer));
  print_error("clReleaseMemObject", CL(clReleaseMemObject)(part));
  print_error("clReleaseMemObject, of a queue", CL(clReleaseMemObject)((cl_mem)queue));
}

static void events(void) {
  cl_event event = CL(clCreateUserEvent)(context, &error);
  print_error("clCreateUserEvent", error);
  same("event's context", QUERY(clGetEventInfo, event, CL_EVENT_CONTEXT), context);
  print_error("clSetEventCallback", CL(clSetEventCallback)(event, CL_COMPLETE, on_complete, &event));
  cl_event marker = NULL;
  print_error("clEnqueueMarkerWithWaitList", CL(clEnqueueMarkerWithWaitList)(queue, 1, &event, &marker));
  same("marker's queue", QUERY(clGetEventInfo, marker, CL_EVENT_COMMAND_QUEUE), queue);
  print_error("clSetUserEventStatus", CL(clSetUserEventStatus)(event, CL_COMPLETE));
  print_error("clWaitForEvents", CL(clWaitForEvents)(1, &marker));
  print_error("clReleaseEvent", CL(clReleaseEvent)(marker));
  print_error("clReleaseEvent", CL(clReleaseEvent)(event));
}

static void launches(void) {
  enum { kItems = 1024 };
  static cl_uint counts[kItems];
  const char* source = "kernel void sim_count(global uint* counts) { counts[get_global_id(0)] += 1; }";
  cl_program program = CL(clCreateProgramWithSource)(context, 1, &source, NULL, &error);
  print_error("clCreateProgramWithSource", error);
  print_error("clBuildProgram", CL(clBuildProgram)(program, 1, &device, "", NULL, NULL));
  cl_kernel kernel = CL(clCreateKernel)(program, "sim_count", &error);
  print_error("clCreateKernel", error);
  same("kernel's program", QUERY(clGetKernelInfo, kernel, CL_KERNEL_PROGRAM), program);
  size_t most = 0;
  print_error(
      "clGetKernelWorkGroupInfo, of the only device",
      CL(clGetKernelWorkGroupInfo)(kernel, NULL, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL));
  printf("items in a group: %zu\n", most);
  cl_mem buffer = CL(clCreateBuffer)(context, CL_MEM_COPY_HOST_PTR, sizeof counts, counts, &error);
  print_error("clSetKernelArg", CL(clSetKernelArg)(kernel, 0, sizeof buffer, &buffer));
  const size_t global = kItems;
  const size_t local = 32;
  cl_event event = NULL;
  print_error("clEnqueueNDRangeKernel",
              CL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &global, &local, 0, NULL, &event));
  print_error("clEnqueueReadBuffer",
              CL(clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 1, &event, NULL));
  unsigned right = 0;
  for (int i = 0; i < kItems; ++i) right += counts[i] == 1;
  printf("items that ran once: %u\n", right);
  print_error("clReleaseEvent", CL(clReleaseEvent)(event));
  print_error("clReleaseMemObject", CL(clReleaseMemObject)(buffer));
  print_error("clReleaseKernel", CL(clReleaseKernel)(kernel));
  print_error("clReleaseProgram", CL(clReleaseProgram)(program));
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  loader = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (loader == NULL) {
    fprintf(stderr, "usage: all_object_types LOADER (%s)\n", argc == 2 ? dlerror() : "one name");
    return 2;
  }
  platforms();
  sub_devices();
  memory();
  events();
  launches();
  print_error("clReleaseCommandQueue", CL(clReleaseCommandQueue)(queue));
  print_error("clReleaseContext", CL(clReleaseContext)(context));
  return 0;
}
