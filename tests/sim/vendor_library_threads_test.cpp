// The vendor library from several threads at once, on top of the simulated driver: for ThreadSanitizer, and
// for what is left at the end.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "icd/vendor/loader_interface.h"
#include "icd/vendor/translations.h"
#include "tests/sim/driver/driver.h"

namespace cleave::vendor {
namespace {

using objects::Kind;

constexpr int kThreads = 4;
constexpr int kRounds = 300;

sim::Driver& driver() {
  static sim::Driver* const one = [] {
    sim::Driver::Options options;
    options.quiet = true;
    return new sim::Driver(options);
  }();
  return *one;
}

const Table& face() {
  static const bool done = [] {
    cl_platform_id const raw = driver().platform();
    vendor.initialized = true;
    vendor.dispatch_table = make_dispatch_table();
    vendor.next = &sim::Driver::table();
    EXPECT_TRUE(vendor.objects.begin(vendor.dispatch_table));
    vendor.platforms[0].driver = {raw, [](const char*) -> void* { return nullptr; }};
    vendor.platforms[0].platform = vendor.objects.make_root(Kind::platform, raw, 0, nullptr);
    vendor.platform_count = 1;
    return true;
  }();
  EXPECT_TRUE(done);
  return vendor.dispatch_table;
}

// Every call must succeed, on whichever thread.
std::atomic<int> failures{0};
void expect(cl_int error) { failures += error != CL_SUCCESS; }
void expect_same(const void* answer, const void* expected) { failures += answer != expected; }

template <typename Handle, typename Ask, typename Object>
Handle asked(Ask ask, Object object, cl_uint name) {
  Handle answer = nullptr;
  expect(ask(object, name, sizeof answer, &answer, nullptr));
  return answer;
}

struct VendorThreads : testing::Test {
  void SetUp() override {
    ASSERT_EQ(vendor::clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    ASSERT_EQ(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), CL_SUCCESS);
    before = driver().live_total();
    context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = cl.clCreateCommandQueue(context, device, 0, nullptr);
    buffer = cl.clCreateBuffer(context, 0, 4096, nullptr, nullptr);
    const char* source = "kernel void k(global int* a, uint n) { a[get_global_id(0)] = n; }";
    program = cl.clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    ASSERT_EQ(cl.clBuildProgram(program, 0, nullptr, "-cl-kernel-arg-info", nullptr, nullptr), CL_SUCCESS);
    failures = 0;
  }

  void TearDown() override {
    EXPECT_EQ(failures, 0);
    for (const cl_int error : {cl.clReleaseProgram(program), cl.clReleaseMemObject(buffer),
                               cl.clReleaseCommandQueue(queue), cl.clReleaseContext(context)}) {
      EXPECT_EQ(error, CL_SUCCESS);
    }
    EXPECT_EQ(driver().live_total(), before) << "nothing is left in the driver";
    EXPECT_EQ(cl.clRetainContext(context), CL_INVALID_CONTEXT) << "nor here";
  }

  template <typename Body>
  static void everywhere(Body body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([body, t] {
        for (int i = 0; i < kRounds; ++i) body(t);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const Table& cl = face();
  std::size_t before = 0;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;
  cl_program program = nullptr;
};

TEST_F(VendorThreads, CountTheSameObjects) {
  everywhere([this](int) {
    expect(cl.clRetainContext(context));
    expect(cl.clRetainCommandQueue(queue));
    expect(cl.clRetainMemObject(buffer));
    expect(cl.clRetainProgram(program));
    expect_same(asked<cl_context>(cl.clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT), context);
    expect_same(asked<cl_context>(cl.clGetMemObjectInfo, buffer, CL_MEM_CONTEXT), context);
    expect_same(asked<cl_device_id>(cl.clGetProgramInfo, program, CL_PROGRAM_DEVICES), device);
    expect(cl.clReleaseProgram(program));
    expect(cl.clReleaseMemObject(buffer));
    expect(cl.clReleaseCommandQueue(queue));
    expect(cl.clReleaseContext(context));
  });
}

TEST_F(VendorThreads, MakeAndReleaseTheirOwn) {
  everywhere([this](int) {
    const cl_buffer_region region = {0, 64};
    cl_mem const part = cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, nullptr);
    expect_same(asked<cl_mem>(cl.clGetMemObjectInfo, part, CL_MEM_ASSOCIATED_MEMOBJECT), buffer);
    cl_command_queue const own = cl.clCreateCommandQueue(context, device, 0, nullptr);
    cl_event marker = nullptr;
    expect(cl.clEnqueueMarkerWithWaitList(own, 0, nullptr, &marker));
    expect(cl.clReleaseCommandQueue(own));
    expect_same(asked<cl_command_queue>(cl.clGetEventInfo, marker, CL_EVENT_COMMAND_QUEUE), own);
    expect(cl.clWaitForEvents(1, &marker));
    expect(cl.clReleaseEvent(marker));
    cl_kernel const kernel = cl.clCreateKernel(program, "k", nullptr);
    const cl_uint number = 7;
    expect(cl.clSetKernelArg(kernel, 0, sizeof part, &part));
    expect(cl.clSetKernelArg(kernel, 1, sizeof number, &number));
    expect_same(asked<cl_program>(cl.clGetKernelInfo, kernel, CL_KERNEL_PROGRAM), program);
    const size_t items = 16;
    expect(cl.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr));
    expect(cl.clReleaseKernel(kernel));
    expect(cl.clReleaseMemObject(part));
  });
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
}

TEST_F(VendorThreads, AreCalledBackWithHandlesThatLive) {
  static std::atomic<int> called;
  called = 0;
  everywhere([this](int) {
    cl_event const event = cl.clCreateUserEvent(context, nullptr);
    expect(cl.clSetEventCallback(
        event, CL_COMPLETE,
        [](cl_event given, cl_int status, void* expected) {
          expect_same(given, expected);
          expect(status);
          ++called;
        },
        event));
    expect(cl.clSetUserEventStatus(event, CL_COMPLETE));
    expect(cl.clReleaseEvent(event));
    cl_mem const own = cl.clCreateBuffer(context, 0, 16, nullptr, nullptr);
    expect(cl.clSetMemObjectDestructorCallback(
        own,
        [](cl_mem given, void* expected) {
          expect_same(given, expected);
          ++called;
        },
        own));
    expect(cl.clReleaseMemObject(own));
  });
  cl.clFinish(queue);
  EXPECT_EQ(called, 2 * kThreads * kRounds);
}

// One thread's new object may get the place of another's old one; a handle that is no longer one, or never
// was, is refused whatever the others do.
TEST_F(VendorThreads, BadHandlesAreRefusedMeanwhile) {
  std::array<cl_event, kThreads> gone{};
  for (cl_event& event : gone) event = cl.clCreateUserEvent(context, nullptr);
  for (cl_event const event : gone) cl.clReleaseEvent(event);
  std::array<char, 128> foreign{};
  everywhere([&](int thread) {
    cl_event const event = cl.clCreateUserEvent(context, nullptr);
    expect(cl.clSetUserEventStatus(event, CL_COMPLETE));
    expect(cl.clReleaseEvent(event));
    failures += cl.clRetainEvent(gone[thread]) != CL_INVALID_EVENT;
    failures += cl.clRetainEvent(reinterpret_cast<cl_event>(foreign.data())) != CL_INVALID_EVENT;
    failures += cl.clRetainEvent(reinterpret_cast<cl_event>(queue)) != CL_INVALID_EVENT;
    failures +=
        cl.clEnqueueMarkerWithWaitList(queue, 1, &gone[thread], nullptr) != CL_INVALID_EVENT_WAIT_LIST;
  });
}

}  // namespace
}  // namespace cleave::vendor
