/* walk LOADER: opens that OpenCL loader and goes once through every kind of object on its first platform.
 * Prints what each call answers, and whether queries lead back to the very handles that were made; never an
 * address. */
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void* loader;

/* Calls NAME of the loader's. */
#define CL(name) ((__typeof__(&name))find(#name))

static void (*find(const char* name))(void) {
  void* found = dlsym(loader, name);
  if (found == NULL) printf("%s is missing\n", name);
  void (*function)(void);
  memcpy(&function, &found, sizeof function);
  return function;
}

static void say(const char* what, cl_int error) { printf("%s: %d\n", what, error); }
static void same(const char* what, const void* answer, const void* expected) {
  printf("%s: %s\n", what, answer == expected ? "the same" : "another");
}

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_int error;

static void* asked;
#define ASK(function, object, name) \
  (asked = NULL, say(#name, CL(function)(object, name, sizeof asked, &asked, NULL)), asked)

static void CL_CALLBACK told(cl_event event, cl_int status, void* data) {
  same("callback's event", event, *(cl_event*)data);
  say("callback's status", status);
}

static void platforms(void) {
  cl_platform_id platform = NULL;
  cl_uint count = 0;
  say("clGetPlatformIDs", CL(clGetPlatformIDs)(1, &platform, &count));
  say("clGetDeviceIDs", CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count));
  same("device's platform", ASK(clGetDeviceInfo, device, CL_DEVICE_PLATFORM), platform);
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
  context = CL(clCreateContext)(properties, 1, &device, NULL, NULL, &error);
  say("clCreateContext", error);
  same("context's device", ASK(clGetContextInfo, context, CL_CONTEXT_DEVICES), device);
  queue = CL(clCreateCommandQueue)(context, device, 0, &error);
  say("clCreateCommandQueue", error);
  same("queue's context", ASK(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT), context);
  same("queue's device", ASK(clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE), device);
  say("clUnloadPlatformCompiler", CL(clUnloadPlatformCompiler)(platform));
}

static void sub_devices(void) {
  const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 8, 0};
  cl_device_id parts[2] = {NULL, NULL};
  say("clCreateSubDevices", CL(clCreateSubDevices)(device, halves, 2, parts, NULL));
  same("part's parent", ASK(clGetDeviceInfo, parts[0], CL_DEVICE_PARENT_DEVICE), device);
  for (int i = 0; i < 2; ++i) say("clReleaseDevice", CL(clReleaseDevice)(parts[i]));
  say("clRetainDevice, of one that is gone", CL(clRetainDevice)(parts[0]));
}

static void memory(void) {
  unsigned char bytes[64] = {1, 2, 3};
  cl_mem buffer = CL(clCreateBuffer)(context, CL_MEM_COPY_HOST_PTR, sizeof bytes, bytes, &error);
  say("clCreateBuffer", error);
  const cl_buffer_region region = {0, 32};
  cl_mem part = CL(clCreateSubBuffer)(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  say("clCreateSubBuffer", error);
  same("part's buffer", ASK(clGetMemObjectInfo, part, CL_MEM_ASSOCIATED_MEMOBJECT), buffer);
  cl_event read = NULL;
  say("clEnqueueReadBuffer",
      CL(clEnqueueReadBuffer)(queue, part, CL_FALSE, 0, 4, bytes + 32, 0, NULL, &read));
  void* mapped = CL(clEnqueueMapBuffer)(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 1, &read, NULL, &error);
  say("clEnqueueMapBuffer", error);
  printf("bytes: %d %d\n", bytes[32], ((unsigned char*)mapped)[2]);
  say("clEnqueueUnmapMemObject", CL(clEnqueueUnmapMemObject)(queue, buffer, mapped, 0, NULL, NULL));
  say("clFinish", CL(clFinish)(queue));
  say("clReleaseEvent", CL(clReleaseEvent)(read));
  say("clReleaseEvent, once too often", CL(clReleaseEvent)(read));
  cl_sampler sampler = CL(clCreateSampler)(context, CL_TRUE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &error);
  say("clCreateSampler", error);
  same("sampler's context", ASK(clGetSamplerInfo, sampler, CL_SAMPLER_CONTEXT), context);
  say("clReleaseSampler", CL(clReleaseSampler)(sampler));
  say("clReleaseMemObject", CL(clReleaseMemObject)(buffer));
  say("clReleaseMemObject", CL(clReleaseMemObject)(part));
  say("clReleaseMemObject, of a queue", CL(clReleaseMemObject)((cl_mem)queue));
}

static void events(void) {
  cl_event event = CL(clCreateUserEvent)(context, &error);
  say("clCreateUserEvent", error);
  same("event's context", ASK(clGetEventInfo, event, CL_EVENT_CONTEXT), context);
  say("clSetEventCallback", CL(clSetEventCallback)(event, CL_COMPLETE, told, &event));
  cl_event marker = NULL;
  say("clEnqueueMarkerWithWaitList", CL(clEnqueueMarkerWithWaitList)(queue, 1, &event, &marker));
  same("marker's queue", ASK(clGetEventInfo, marker, CL_EVENT_COMMAND_QUEUE), queue);
  say("clSetUserEventStatus", CL(clSetUserEventStatus)(event, CL_COMPLETE));
  say("clWaitForEvents", CL(clWaitForEvents)(1, &marker));
  say("clReleaseEvent", CL(clReleaseEvent)(marker));
  say("clReleaseEvent", CL(clReleaseEvent)(event));
}

static void launches(void) {
  enum { kItems = 1024 };
  static cl_uint counts[kItems];
  const char* source = "kernel void sim_count(global uint* counts) { counts[get_global_id(0)] += 1; }";
  cl_program program = CL(clCreateProgramWithSource)(context, 1, &source, NULL, &error);
  say("clCreateProgramWithSource", error);
  say("clBuildProgram", CL(clBuildProgram)(program, 1, &device, "", NULL, NULL));
  cl_kernel kernel = CL(clCreateKernel)(program, "sim_count", &error);
  say("clCreateKernel", error);
  same("kernel's program", ASK(clGetKernelInfo, kernel, CL_KERNEL_PROGRAM), program);
  size_t most = 0;
  say("clGetKernelWorkGroupInfo, of the only device",
      CL(clGetKernelWorkGroupInfo)(kernel, NULL, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL));
  printf("items in a group: %zu\n", most);
  cl_mem buffer = CL(clCreateBuffer)(context, CL_MEM_COPY_HOST_PTR, sizeof counts, counts, &error);
  say("clSetKernelArg", CL(clSetKernelArg)(kernel, 0, sizeof buffer, &buffer));
  const size_t global = kItems;
  const size_t local = 32;
  cl_event event = NULL;
  say("clEnqueueNDRangeKernel",
      CL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &global, &local, 0, NULL, &event));
  say("clEnqueueReadBuffer",
      CL(clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 1, &event, NULL));
  unsigned right = 0;
  for (int i = 0; i < kItems; ++i) right += counts[i] == 1;
  printf("items that ran once: %u\n", right);
  say("clReleaseEvent", CL(clReleaseEvent)(event));
  say("clReleaseMemObject", CL(clReleaseMemObject)(buffer));
  say("clReleaseKernel", CL(clReleaseKernel)(kernel));
  say("clReleaseProgram", CL(clReleaseProgram)(program));
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  loader = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (loader == NULL) {
    fprintf(stderr, "usage: walk LOADER (%s)\n", argc == 2 ? dlerror() : "one name");
    return 2;
  }
  platforms();
  sub_devices();
  memory();
  events();
  launches();
  say("clReleaseCommandQueue", CL(clReleaseCommandQueue)(queue));
  say("clReleaseContext", CL(clReleaseContext)(context));
  return 0;
}
