// A launch that is made again stays unsplit for the reason that it had, without being decided anew, and is decided anew as soon as
// something is different.

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;

constexpr std::size_t kFew = 64;  // fewer than the device has cores
constexpr const char* kKeepsToItself = R"(
  kernel void add(global int* data, int n) { data[get_global_id(0)] += n; asm(""); }
)";

class RepeatedLaunch : public InterposerTest<> {
 protected:
  cl_int launch_few(cl_kernel kernel) const { return cl.launch(queue, kernel, {kFew, 16}); }
  // Whether the launch of a few items would be forwarded without being decided anew.
  [[nodiscard]] bool is_known(cl_kernel kernel) const {
    const std::size_t global = kFew;
    const std::size_t local = 16;
    const interpose::Call call(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr, {});
    interpose::Interposer& p = interpose::interposer();
    return p.repeated.find(call, p.neighbours.vms(), p.records.changes).has_value();
  }
  void expect_counts(std::uint64_t split, std::uint64_t small) {
    EXPECT_EQ(statistics().split, split);
    EXPECT_EQ(unsplit(UnsplitReason::small), small);
  }
};

TEST_F(RepeatedLaunch, IsMadeAndCountedEachTime) {
  const cl_kernel kernel = make_kernel();
  EXPECT_FALSE(is_known(kernel));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(launch_few(kernel), CL_SUCCESS);
    EXPECT_TRUE(is_known(kernel));
  }
  expect_counts(0, 10);
  EXPECT_EQ(driver.launches().size(), 10U);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(read()[kFew - 1], 10);
  EXPECT_EQ(read()[kFew], 0);
}

TEST_F(RepeatedLaunch, OtherSizesAreDecidedAnew) {
  const cl_kernel kernel = make_kernel();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(launch_few(kernel), CL_SUCCESS);
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
  }
  expect_counts(3, 3);
}

TEST_F(RepeatedLaunch, ANewKernelInItsPlaceIsDecidedAnew) {
  const cl_program keeps = make_program(kKeepsToItself);
  const cl_program splits = make_program(kSplittable);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    {
      const kit::Kernel whole = cl.kernel(keeps, "add", buffer, cl_int{1});
      ASSERT_EQ(launch(whole), CL_SUCCESS);
      ASSERT_EQ(launch(whole), CL_SUCCESS);
      ASSERT_EQ(cl.clFinish(queue), CL_SUCCESS);
    }  // the driver may reuse its address
    const kit::Kernel split = cl.kernel(splits, "add", buffer, cl_int{1});
    ASSERT_EQ(launch(split), CL_SUCCESS);
    EXPECT_EQ(statistics().split, i);
    ASSERT_EQ(cl.clFinish(queue), CL_SUCCESS);
  }
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 6U);
}

TEST_F(RepeatedLaunch, IsDecidedAnewWhenTheQueueChanges) {
  const cl_kernel kernel = make_kernel();
  ASSERT_EQ(launch_few(kernel), CL_SUCCESS);
  EXPECT_TRUE(is_known(kernel));
  cl.clSetCommandQueueProperty(queue, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE, nullptr);
  EXPECT_FALSE(is_known(kernel));
  ASSERT_EQ(launch_few(kernel), CL_SUCCESS);
  expect_counts(0, 2);
}

TEST_F(RepeatedLaunch, AnErrorIsTheDriversAndIsNotCounted) {
  const cl_kernel kernel = make_kernel();
  ASSERT_EQ(launch_few(kernel), CL_SUCCESS);
  ASSERT_EQ(launch_few(kernel), CL_SUCCESS);
  ASSERT_TRUE(is_known(kernel));
  driver.fail("clEnqueueNDRangeKernel", 1, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(launch_few(kernel), CL_OUT_OF_RESOURCES);
  expect_counts(0, 2);
  EXPECT_EQ(launch_few(kernel), CL_SUCCESS);
  expect_counts(0, 3);
}

TEST_F(RepeatedLaunch, LaunchesOfAllThreadsAreCounted) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kLaunches = 200;
  const std::vector<cl_kernel> kernels = make_kernels(kThreads);
  kit::on_threads(kThreads, [&](std::size_t thread) {
    for (std::size_t i = 0; i < kLaunches; ++i) EXPECT_EQ(launch_few(kernels[thread]), CL_SUCCESS);
  });
  expect_counts(0, kThreads * kLaunches);
}

}  // namespace
}  // namespace cleave
