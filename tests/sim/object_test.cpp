// Objects: references, what keeps what, destructor callbacks, the platform and its devices.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

using Object = DriverTest<>;
using Queue = DriverTest<>;
using Device = DriverTest<>;

TEST_F(Object, ReferenceCountExcludesInternalReferences) {
  const auto references = [this] { return cl.info<cl_uint>(context, CL_CONTEXT_REFERENCE_COUNT); };
  EXPECT_EQ(references(), 1u);
  cl.clRetainContext(context);
  EXPECT_EQ(references(), 2u);
  EXPECT_EQ(cl.clReleaseContext(context), CL_SUCCESS);
  EXPECT_EQ(references(), 1u);
}

TEST_F(Object, OverReleaseIsAnError) {
  const cl_command_queue released = cl.queue(context, device).detach();
  EXPECT_EQ(cl.clReleaseCommandQueue(released), CL_SUCCESS);
  EXPECT_EQ(cl.clReleaseCommandQueue(released), CL_INVALID_COMMAND_QUEUE);
}

TEST(ConfiguredObject, DependentsKeepObjectsAlive) {
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

TEST_F(Object, HandlesAreNeverReused) {
  const cl_event first = cl.clCreateUserEvent(context, nullptr);
  cl.clReleaseEvent(first);
  for (int i = 0; i < 100; ++i) EXPECT_NE(user_event(), first);
}

TEST_F(Object, StartsWithTheDispatchTable) {
  const auto table_of = [](const void* handle) {
    return *static_cast<const cl_icd_dispatch* const*>(handle);
  };
  EXPECT_EQ(table_of(driver.platform()), &Driver::table());
  EXPECT_EQ(table_of(driver.device()), &Driver::table());
  EXPECT_EQ(table_of(queue), &Driver::table());
  EXPECT_EQ(table_of(user_event()), &Driver::table());
}

TEST_F(Object, DestructorCallbacksRunInReverseAfterTheLastUse) {
  static std::vector<int> order;
  order.clear();
  const cl_mem buffer = cl.clCreateBuffer(context, 0, 4, nullptr, nullptr);
  cl.clSetMemObjectDestructorCallback(
      buffer, [](cl_mem, void*) { order.push_back(1); }, nullptr);
  cl.clSetMemObjectDestructorCallback(
      buffer, [](cl_mem, void*) { order.push_back(2); }, nullptr);
  launch(queue, make_add(buffer, 1));
  cl.clReleaseMemObject(buffer);
  EXPECT_TRUE(order.empty());
  cl.clFinish(queue);
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST(ConfiguredObject, ContextAndProgramDestructionIsReported) {
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

TEST(ConfiguredObject, LeaksAreListedAndFreedWithTheDriver) {
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

TEST_F(Queue, ReturnsItsProperties) {
  const cl_queue_properties given[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const kit::Queue profiling = cl.own(cl.clCreateCommandQueueWithProperties(context, device, given, nullptr));
  cl_queue_properties got[5]{};
  std::size_t size = 0;
  EXPECT_EQ(cl.clGetCommandQueueInfo(profiling, CL_QUEUE_PROPERTIES_ARRAY, sizeof got, got, &size),
            CL_SUCCESS);
  EXPECT_EQ(size, sizeof given);
  EXPECT_EQ(got[1], given[1]);
  EXPECT_EQ(cl.clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, sizeof got, got, &size), CL_INVALID_VALUE);
}

TEST(ConfiguredQueue, OutOfOrderNeedsDeviceSupport) {
  DriverFixture fixture(kit::with(Options{}, &Options::out_of_order, false));
  cl_int code = 0;
  EXPECT_EQ(fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(),
                                            CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code),
            nullptr);
  EXPECT_EQ(code, CL_INVALID_QUEUE_PROPERTIES);
}

TEST(ConfiguredDevice, FollowsTheOptions) {
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
  EXPECT_EQ(fixture.cl.info<cl_uint>(fixture.driver.device(2), CL_DEVICE_MAX_COMPUTE_UNITS), 7u);
  EXPECT_EQ(fixture.cl.text(fixture.driver.device(1), CL_DEVICE_NAME), "Simulated device 2");
}

TEST_F(Device, CanBePartitioned) {
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 8, 0};
  cl_device_id halves[2]{};
  cl_uint count = 0;
  EXPECT_EQ(cl.clCreateSubDevices(driver.device(), equally, 2, halves, &count), CL_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(driver.live(Kind::device), 2u);
  EXPECT_EQ(cl.info<cl_device_id>(halves[0], CL_DEVICE_PARENT_DEVICE), driver.device());
  for (const cl_device_id half : halves) EXPECT_EQ(cl.clReleaseDevice(half), CL_SUCCESS);
}

}  // namespace
}  // namespace cleave::sim
