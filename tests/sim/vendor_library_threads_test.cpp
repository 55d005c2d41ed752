// The vendor library from several threads at once, on top of the simulated driver: for ThreadSanitizer, and
// for what is left at the end.
#include <array>
#include <atomic>

#include "tests/kit/threads.h"
#include "tests/sim/vendor_fixture.h"

namespace cleave::vendor {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 300;

// Every call must succeed, on whichever thread.
std::atomic<int> failures{0};
void expect(cl_int error) { failures += error != CL_SUCCESS; }
void expect_same(const void* answer, const void* expected) { failures += answer != expected; }

struct VendorThreads : VendorFixture {
  void SetUp() override {
    vendor_table();
    before = simulated_driver().live_total();
    VendorFixture::SetUp();
    buffer = cl.buffer(context, 4096);
    program = cl.build(context, "kernel void k(global int* a, uint n) { a[get_global_id(0)] = n; }",
                       "-cl-kernel-arg-info");
    failures = 0;
  }

  void TearDown() override {
    EXPECT_EQ(failures, 0);
    const cl_context handle = context;
    for (const cl_int error : {program.reset(), buffer.reset(), queue.reset(), context.reset()}) {
      EXPECT_EQ(error, CL_SUCCESS);
    }
    EXPECT_EQ(simulated_driver().live_total(), before) << "nothing is left in the driver";
    EXPECT_EQ(cl.clRetainContext(handle), CL_INVALID_CONTEXT) << "nor here";
  }

  template <typename Body>
  static void everywhere(Body body) {
    kit::on_threads(kThreads, [&body](std::size_t thread) {
      for (int i = 0; i < kRounds; ++i) body(thread);
    });
  }

  std::size_t before = 0;
  kit::Buffer buffer;
  kit::Program program;
};

TEST_F(VendorThreads, ReferenceCountSharedObjects) {
  everywhere([this](std::size_t) {
    expect(cl.clRetainContext(context));
    expect(cl.clRetainCommandQueue(queue));
    expect(cl.clRetainMemObject(buffer));
    expect(cl.clRetainProgram(program));
    expect_same(cl.info<cl_context>(queue, CL_QUEUE_CONTEXT), context);
    expect_same(cl.info<cl_context>(buffer, CL_MEM_CONTEXT), context);
    expect_same(cl.info<cl_device_id>(program, CL_PROGRAM_DEVICES), device);
    expect(cl.clReleaseProgram(program));
    expect(cl.clReleaseMemObject(buffer));
    expect(cl.clReleaseCommandQueue(queue));
    expect(cl.clReleaseContext(context));
  });
}

TEST_F(VendorThreads, CreateAndReleaseTheirOwn) {
  everywhere([this](std::size_t) {
    const kit::Buffer part = cl.sub_buffer(buffer, 0, 64);
    expect_same(cl.info<cl_mem>(part, CL_MEM_ASSOCIATED_MEMOBJECT), buffer);
    kit::Queue own = cl.queue(context, device);
    const cl_command_queue released = own;
    const kit::Event marker = cl.marker_event(own);
    expect(own.reset());
    expect_same(cl.info<cl_command_queue>(marker, CL_EVENT_COMMAND_QUEUE), released);
    expect(cl.wait({marker}));
    const kit::Kernel kernel = cl.kernel(program, "k", part, cl_uint{7});
    expect_same(cl.info<cl_program>(kernel, CL_KERNEL_PROGRAM), program);
    expect(cl.launch(queue, kernel, 16));
  });
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
}

TEST_F(VendorThreads, CallbacksReceiveLiveHandles) {
  static std::atomic<int> called;
  called = 0;
  everywhere([this](std::size_t) {
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
TEST_F(VendorThreads, InvalidHandlesAreRejected) {
  std::array<cl_event, kThreads> gone{};
  for (cl_event& event : gone) event = cl.clCreateUserEvent(context, nullptr);
  for (cl_event const event : gone) cl.clReleaseEvent(event);
  std::array<char, 128> foreign{};
  everywhere([&](std::size_t thread) {
    cl_event const event = cl.clCreateUserEvent(context, nullptr);
    expect(cl.clSetUserEventStatus(event, CL_COMPLETE));
    expect(cl.clReleaseEvent(event));
    failures += cl.clRetainEvent(gone[thread]) != CL_INVALID_EVENT;
    failures += cl.clRetainEvent(reinterpret_cast<cl_event>(foreign.data())) != CL_INVALID_EVENT;
    failures += cl.clRetainEvent(reinterpret_cast<cl_event>(queue.get())) != CL_INVALID_EVENT;
    failures += cl.marker(queue, {gone[thread]}) != CL_INVALID_EVENT_WAIT_LIST;
  });
}

}  // namespace
}  // namespace cleave::vendor
