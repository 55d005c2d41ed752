// Objects: references, what keeps what, destructor callbacks, the platform and its devices.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/rig.h"

namespace cleave::sim {
namespace {

cl_uint references(Rig& rig, cl_context context) {
  cl_uint count = 0;
  EXPECT_EQ(rig.cl.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr),
            CL_SUCCESS);
  return count;
}

TEST(Object, CountsTheProgramsReferencesAlone) {
  Rig rig;
  EXPECT_EQ(references(rig, rig.context), 1u);
  rig.cl.clRetainContext(rig.context);
  EXPECT_EQ(references(rig, rig.context), 2u);
  EXPECT_EQ(rig.cl.clReleaseContext(rig.context), CL_SUCCESS);
  EXPECT_EQ(references(rig, rig.context), 1u);
}

TEST(Object, OneReleaseTooManyIsAnError) {
  Rig rig;
  const cl_command_queue queue = rig.cl.clCreateCommandQueue(rig.context, rig.driver.device(), 0, nullptr);
  EXPECT_EQ(rig.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  EXPECT_EQ(rig.cl.clReleaseCommandQueue(queue), CL_INVALID_COMMAND_QUEUE);
}

TEST(Object, OthersKeepWhatTheyNeed) {
  Driver driver;
  const cl_icd_dispatch& cl = Driver::table();
  const cl_device_id device = driver.device();
  const cl_context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const char* text = "kernel void k() {}";
  const cl_program program = cl.clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
  cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr);
  const cl_kernel kernel = cl.clCreateKernel(program, "k", nullptr);
  cl.clReleaseContext(context);
  cl.clReleaseProgram(program);
  EXPECT_EQ(driver.live(Kind::context), 1u);
  EXPECT_EQ(driver.live(Kind::program), 1u);
  cl_program found = nullptr;
  EXPECT_EQ(cl.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof found, &found, nullptr), CL_SUCCESS);
  EXPECT_EQ(found, program);
  EXPECT_EQ(cl.clRetainProgram(found), CL_SUCCESS);
  cl.clReleaseKernel(kernel);
  EXPECT_EQ(driver.live_total(), 2u);
  cl.clReleaseProgram(found);
  EXPECT_EQ(driver.live_total(), 0u);
}

TEST(Object, HandlesAreNotUsedTwice) {
  Rig rig;
  const cl_event first = rig.cl.clCreateUserEvent(rig.context, nullptr);
  rig.cl.clReleaseEvent(first);
  for (int i = 0; i < 100; ++i) EXPECT_NE(rig.user_event(), first);
}

TEST(Object, BeginsWithTheDispatchTable) {
  Rig rig;
  const auto table_of = [](const void* handle) {
    return *static_cast<const cl_icd_dispatch* const*>(handle);
  };
  EXPECT_EQ(table_of(rig.driver.platform()), &Driver::table());
  EXPECT_EQ(table_of(rig.driver.device()), &Driver::table());
  EXPECT_EQ(table_of(rig.queue), &Driver::table());
  EXPECT_EQ(table_of(rig.user_event()), &Driver::table());
}

TEST(Object, DestructorCallbacksComeInReverseAndAfterTheLastUse) {
  Rig rig;
  static std::vector<int> order;
  order.clear();
  const cl_mem buffer = rig.cl.clCreateBuffer(rig.context, 0, 4, nullptr, nullptr);
  rig.cl.clSetMemObjectDestructorCallback(
      buffer, [](cl_mem, void*) { order.push_back(1); }, nullptr);
  rig.cl.clSetMemObjectDestructorCallback(
      buffer, [](cl_mem, void*) { order.push_back(2); }, nullptr);
  rig.launch(rig.queue, rig.make_add(buffer, 1));
  rig.cl.clReleaseMemObject(buffer);
  EXPECT_TRUE(order.empty());
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST(Object, ContextsAndProgramsTellOfTheirEnd) {
  static int ends;
  ends = 0;
  {
    Rig rig;
    rig.cl.clSetContextDestructorCallback(
        rig.context, [](cl_context, void*) { ++ends; }, nullptr);
    rig.cl.clSetProgramReleaseCallback(
        rig.program, [](cl_program, void*) { ends += 10; }, nullptr);
    EXPECT_EQ(ends, 0);
  }
  EXPECT_EQ(ends, 11);
}

TEST(Object, LeaksAreSeenAndFreedWithTheDriver) {
  Driver driver;
  const cl_icd_dispatch& cl = Driver::table();
  const cl_device_id device = driver.device();
  const cl_context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_command_queue queue = cl.clCreateCommandQueue(context, device, 0, nullptr);
  const cl_event gate = cl.clCreateUserEvent(context, nullptr);
  cl_event marker = nullptr;
  EXPECT_EQ(cl.clEnqueueMarkerWithWaitList(queue, 1, &gate, &marker), CL_SUCCESS);
  EXPECT_EQ(driver.live_total(), 4u);
  EXPECT_EQ(driver.live(Kind::event), 2u);
  EXPECT_EQ(driver.live_objects(), (std::vector<std::string>{"context#1", "event#1", "event#2", "queue#1"}));
  EXPECT_EQ(driver.id(marker), 2u);
  EXPECT_EQ(driver.id(&driver), 0u);
}

TEST(Queue, KeepsItsPropertiesAsGiven) {
  Rig rig;
  const cl_queue_properties given[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const cl_command_queue queue =
      rig.cl.clCreateCommandQueueWithProperties(rig.context, rig.driver.device(), given, nullptr);
  cl_queue_properties got[5]{};
  std::size_t size = 0;
  EXPECT_EQ(rig.cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof got, got, &size),
            CL_SUCCESS);
  EXPECT_EQ(size, sizeof given);
  EXPECT_EQ(got[1], given[1]);
  EXPECT_EQ(rig.cl.clGetCommandQueueInfo(rig.queue, CL_QUEUE_SIZE, sizeof got, got, &size), CL_INVALID_VALUE);
  rig.cl.clReleaseCommandQueue(queue);
}

TEST(Queue, OutOfOrderIsRefusedWhereTheDeviceHasItNot) {
  Options options;
  options.out_of_order = false;
  Rig rig(options);
  cl_int code = 0;
  EXPECT_EQ(rig.cl.clCreateCommandQueue(rig.context, rig.driver.device(),
                                        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code),
            nullptr);
  EXPECT_EQ(code, CL_INVALID_QUEUE_PROPERTIES);
}

TEST(Device, IsWhatTheOptionsSay) {
  Options options;
  options.devices = 3;
  options.compute_units = 7;
  options.device_type = CL_DEVICE_TYPE_ACCELERATOR;
  Rig rig(options);
  cl_uint count = 0;
  EXPECT_EQ(rig.cl.clGetDeviceIDs(rig.driver.platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &count), CL_SUCCESS);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(rig.cl.clGetDeviceIDs(nullptr, CL_DEVICE_TYPE_GPU, 0, nullptr, &count), CL_DEVICE_NOT_FOUND);
  EXPECT_EQ(rig.cl.clGetDeviceIDs(nullptr, 1 << 20, 0, nullptr, &count), CL_INVALID_DEVICE_TYPE);
  cl_uint units = 0;
  rig.cl.clGetDeviceInfo(rig.driver.device(2), CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  EXPECT_EQ(units, 7u);
  std::size_t size = 0;
  EXPECT_EQ(rig.cl.clGetDeviceInfo(rig.driver.device(1), CL_DEVICE_NAME, 0, nullptr, &size), CL_SUCCESS);
  std::string name(size, '\0');
  rig.cl.clGetDeviceInfo(rig.driver.device(1), CL_DEVICE_NAME, size, name.data(), nullptr);
  EXPECT_EQ(name.c_str(), std::string("Simulated device 2"));
}

TEST(Device, CanBePartitioned) {
  Rig rig;
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 8, 0};
  cl_device_id halves[2]{};
  cl_uint count = 0;
  EXPECT_EQ(rig.cl.clCreateSubDevices(rig.driver.device(), equally, 2, halves, &count), CL_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(rig.driver.live(Kind::device), 2u);
  cl_device_id parent = nullptr;
  rig.cl.clGetDeviceInfo(halves[0], CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, nullptr);
  EXPECT_EQ(parent, rig.driver.device());
  for (const cl_device_id half : halves) EXPECT_EQ(rig.cl.clReleaseDevice(half), CL_SUCCESS);
}

}  // namespace
}  // namespace cleave::sim
