// Objects: references, what keeps what, destructor callbacks, the platform and its devices.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

cl_uint references(DriverFixture& fixture, cl_context context) {
  const auto count = fixture.cl.info<cl_uint>(context, CL_CONTEXT_REFERENCE_COUNT);
  return count;
}

TEST(Object, ReferenceCountExcludesInternalReferences) {
  DriverFixture fixture;
  EXPECT_EQ(references(fixture, fixture.context), 1u);
  fixture.cl.clRetainContext(fixture.context);
  EXPECT_EQ(references(fixture, fixture.context), 2u);
  EXPECT_EQ(fixture.cl.clReleaseContext(fixture.context), CL_SUCCESS);
  EXPECT_EQ(references(fixture, fixture.context), 1u);
}

TEST(Object, OverReleaseIsAnError) {
  DriverFixture fixture;
  const cl_command_queue queue =
      fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(), 0, nullptr);
  EXPECT_EQ(fixture.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clReleaseCommandQueue(queue), CL_INVALID_COMMAND_QUEUE);
}

TEST(Object, DependentsKeepObjectsAlive) {
  Driver driver;
  const kit::Api cl(Driver::table(), kit::fail_test);
  const cl_device_id device = driver.device();
  const cl_context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const char* text = "kernel void k() {}";
  const cl_program program = cl.clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
  cl.build(program);
  const cl_kernel kernel = cl.clCreateKernel(program, "k", nullptr);
  cl.clReleaseContext(context);
  cl.clReleaseProgram(program);
  EXPECT_EQ(driver.live(Kind::context), 1u);
  EXPECT_EQ(driver.live(Kind::program), 1u);
  const auto found = cl.info<cl_program>(kernel, CL_KERNEL_PROGRAM);
  EXPECT_EQ(found, program);
  EXPECT_EQ(cl.clRetainProgram(found), CL_SUCCESS);
  cl.clReleaseKernel(kernel);
  EXPECT_EQ(driver.live_total(), 2u);
  cl.clReleaseProgram(found);
  EXPECT_EQ(driver.live_total(), 0u);
}

TEST(Object, HandlesAreNeverReused) {
  DriverFixture fixture;
  const cl_event first = fixture.cl.clCreateUserEvent(fixture.context, nullptr);
  fixture.cl.clReleaseEvent(first);
  for (int i = 0; i < 100; ++i) EXPECT_NE(fixture.user_event(), first);
}

TEST(Object, StartsWithTheDispatchTable) {
  DriverFixture fixture;
  const auto table_of = [](const void* handle) {
    return *static_cast<const cl_icd_dispatch* const*>(handle);
  };
  EXPECT_EQ(table_of(fixture.driver.platform()), &Driver::table());
  EXPECT_EQ(table_of(fixture.driver.device()), &Driver::table());
  EXPECT_EQ(table_of(fixture.queue), &Driver::table());
  EXPECT_EQ(table_of(fixture.user_event()), &Driver::table());
}

TEST(Object, DestructorCallbacksRunInReverseAfterTheLastUse) {
  DriverFixture fixture;
  static std::vector<int> order;
  order.clear();
  const cl_mem buffer = fixture.cl.clCreateBuffer(fixture.context, 0, 4, nullptr, nullptr);
  fixture.cl.clSetMemObjectDestructorCallback(
      buffer, [](cl_mem, void*) { order.push_back(1); }, nullptr);
  fixture.cl.clSetMemObjectDestructorCallback(
      buffer, [](cl_mem, void*) { order.push_back(2); }, nullptr);
  fixture.launch(fixture.queue, fixture.make_add(buffer, 1));
  fixture.cl.clReleaseMemObject(buffer);
  EXPECT_TRUE(order.empty());
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST(Object, ContextAndProgramDestructionIsReported) {
  static int ends;
  ends = 0;
  {
    DriverFixture fixture;
    fixture.cl.clSetContextDestructorCallback(
        fixture.context, [](cl_context, void*) { ++ends; }, nullptr);
    fixture.cl.clSetProgramReleaseCallback(
        fixture.program, [](cl_program, void*) { ends += 10; }, nullptr);
    EXPECT_EQ(ends, 0);
  }
  EXPECT_EQ(ends, 11);
}

TEST(Object, LeaksAreListedAndFreedWithTheDriver) {
  Driver driver;
  const kit::Api cl(Driver::table(), kit::fail_test);
  const cl_device_id device = driver.device();
  const cl_context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_command_queue queue = cl.clCreateCommandQueue(context, device, 0, nullptr);
  const cl_event gate = cl.clCreateUserEvent(context, nullptr);
  cl_event marker = nullptr;
  EXPECT_EQ(cl.marker(queue, {gate}, &marker), CL_SUCCESS);
  EXPECT_EQ(driver.live_total(), 4u);
  EXPECT_EQ(driver.live(Kind::event), 2u);
  EXPECT_EQ(driver.live_objects(), (std::vector<std::string>{"context#1", "event#1", "event#2", "queue#1"}));
  EXPECT_EQ(driver.id(marker), 2u);
  EXPECT_EQ(driver.id(&driver), 0u);
}

TEST(Queue, ReturnsItsProperties) {
  DriverFixture fixture;
  const cl_queue_properties given[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const kit::Queue queue = fixture.cl.own(fixture.cl.clCreateCommandQueueWithProperties(
      fixture.context, fixture.driver.device(), given, nullptr));
  cl_queue_properties got[5]{};
  std::size_t size = 0;
  EXPECT_EQ(fixture.cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof got, got, &size),
            CL_SUCCESS);
  EXPECT_EQ(size, sizeof given);
  EXPECT_EQ(got[1], given[1]);
  EXPECT_EQ(fixture.cl.clGetCommandQueueInfo(fixture.queue, CL_QUEUE_SIZE, sizeof got, got, &size),
            CL_INVALID_VALUE);
}

TEST(Queue, OutOfOrderNeedsDeviceSupport) {
  Options options;
  options.out_of_order = false;
  DriverFixture fixture(options);
  cl_int code = 0;
  EXPECT_EQ(fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(),
                                            CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code),
            nullptr);
  EXPECT_EQ(code, CL_INVALID_QUEUE_PROPERTIES);
}

TEST(Device, FollowsTheOptions) {
  Options options;
  options.devices = 3;
  options.compute_units = 7;
  options.device_type = CL_DEVICE_TYPE_ACCELERATOR;
  DriverFixture fixture(options);
  cl_uint count = 0;
  EXPECT_EQ(fixture.cl.clGetDeviceIDs(fixture.driver.platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &count),
            CL_SUCCESS);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(fixture.cl.clGetDeviceIDs(nullptr, CL_DEVICE_TYPE_GPU, 0, nullptr, &count), CL_DEVICE_NOT_FOUND);
  EXPECT_EQ(fixture.cl.clGetDeviceIDs(nullptr, 1 << 20, 0, nullptr, &count), CL_INVALID_DEVICE_TYPE);
  const auto units = fixture.cl.info<cl_uint>(fixture.driver.device(2), CL_DEVICE_MAX_COMPUTE_UNITS);
  EXPECT_EQ(units, 7u);
  std::size_t size = 0;
  EXPECT_EQ(fixture.cl.clGetDeviceInfo(fixture.driver.device(1), CL_DEVICE_NAME, 0, nullptr, &size),
            CL_SUCCESS);
  std::string name(size, '\0');
  fixture.cl.clGetDeviceInfo(fixture.driver.device(1), CL_DEVICE_NAME, size, name.data(), nullptr);
  EXPECT_EQ(name.c_str(), std::string("Simulated device 2"));
}

TEST(Device, CanBePartitioned) {
  DriverFixture fixture;
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 8, 0};
  cl_device_id halves[2]{};
  cl_uint count = 0;
  EXPECT_EQ(fixture.cl.clCreateSubDevices(fixture.driver.device(), equally, 2, halves, &count), CL_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(fixture.driver.live(Kind::device), 2u);
  const auto parent = fixture.cl.info<cl_device_id>(halves[0], CL_DEVICE_PARENT_DEVICE);
  EXPECT_EQ(parent, fixture.driver.device());
  for (const cl_device_id half : halves) EXPECT_EQ(fixture.cl.clReleaseDevice(half), CL_SUCCESS);
}

}  // namespace
}  // namespace cleave::sim
