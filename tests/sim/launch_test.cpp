// Launches: validation, work-item ids, captured arguments, what is recorded of them.
#include <chrono>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

using namespace std::chrono_literals;

using Validation = DriverTest<>;
using KernelLaunch = DriverTest<>;

struct Range {
  cl_uint dims = 1;
  std::vector<std::size_t> global{64};
  std::vector<std::size_t> local{};   // empty: NULL
  std::vector<std::size_t> offset{};  // empty: NULL
};

const std::size_t* or_null(const std::vector<std::size_t>& values) {
  return values.empty() ? nullptr : values.data();
}

cl_int enqueue(DriverFixture& fixture, const char* kernel, const Range& range) {
  return fixture.cl.clEnqueueNDRangeKernel(fixture.queue, fixture.make_kernel(kernel), range.dims,
                                           or_null(range.offset), or_null(range.global), or_null(range.local),
                                           0, nullptr, nullptr);
}

TEST_F(Validation, RejectsInvalidNDRanges) {
  EXPECT_EQ(enqueue(*this, "idle", {.dims = 0}), CL_INVALID_WORK_DIMENSION);
  EXPECT_EQ(enqueue(*this, "idle", {.dims = 4, .global = {1, 1, 1, 1}}), CL_INVALID_WORK_DIMENSION);
  EXPECT_EQ(enqueue(*this, "idle", {.global = {}}), CL_INVALID_GLOBAL_WORK_SIZE);
  EXPECT_EQ(enqueue(*this, "idle", {.dims = 2, .global = {4, 0}}), CL_INVALID_GLOBAL_WORK_SIZE);
  EXPECT_EQ(enqueue(*this, "idle", {.global = {2}, .offset = {~std::size_t{0}}}), CL_INVALID_GLOBAL_OFFSET);
  EXPECT_EQ(enqueue(*this, "idle", {.global = {1}, .offset = {~std::size_t{0}}}), CL_SUCCESS);
  EXPECT_TRUE(driver.launches().size() == 1);
}

TEST(ConfiguredValidation, AddressBitsLimitGlobalIds) {
  DriverFixture fixture(kit::with(Options{}, &Options::address_bits, 32, &Options::per_item, 0ns));
  const std::size_t top = std::size_t{1} << 32;
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {top}}), CL_INVALID_GLOBAL_WORK_SIZE);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {64}, .offset = {top - 63}}), CL_INVALID_GLOBAL_OFFSET);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {64}, .offset = {top - 64}}), CL_SUCCESS);
}

TEST(ConfiguredValidation, WorkGroupSizeIsLimitedByDeviceAndKernel) {
  Options options;
  options.non_uniform = false;
  options.max_work_group_size = 64;
  options.max_work_item_sizes = {64, 8, 4};
  DriverFixture fixture(options);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {65}, .local = {64}}), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {64}, .local = {0}}), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {128}, .local = {128}}), CL_INVALID_WORK_ITEM_SIZE);
  EXPECT_EQ(enqueue(fixture, "idle", {.dims = 2, .global = {64, 8}, .local = {64, 2}}),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(fixture, "idle", {.dims = 2, .global = {64, 8}, .local = {8, 8}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(fixture, "fixed", {.dims = 2, .global = {8, 2}, .local = {4, 2}}),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(fixture, "fixed", {.dims = 2, .global = {8, 2}}), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(fixture, "fixed", {.dims = 2, .global = {16, 4}, .local = {8, 2}}), CL_SUCCESS);
}

TEST(ConfiguredValidation, OptionsEmulateLenientDrivers) {
  Options options;
  options.non_uniform = true;
  options.required_size_refuses_null = false;
  options.zero_global_size = true;
  DriverFixture fixture(options);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {65}, .local = {64}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(fixture, "fixed", {.dims = 2, .global = {16, 4}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(fixture, "idle", {.dims = 2, .global = {4, 0}}), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches()[1].local, (Size3{8, 2, 1}));
  EXPECT_EQ(fixture.driver.launches()[2].items(), 0u);
}

TEST_F(Validation, UniformBuildsNeedUniformGroups) {
  program = make_program(fixture_source, "-cl-uniform-work-group-size");
  EXPECT_EQ(enqueue(*this, "idle", {.global = {65}, .local = {64}}), CL_INVALID_WORK_GROUP_SIZE);
}

TEST_F(Validation, WrongAndStaleHandlesAreRejected) {
  const cl_kernel kernel = make_kernel("idle");
  const auto status_of = [&](cl_command_queue where, cl_kernel which) {
    return cl.launch(where, which, {1});
  };
  EXPECT_EQ(status_of(nullptr, kernel), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(status_of(reinterpret_cast<cl_command_queue>(kernel), kernel), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(status_of(reinterpret_cast<cl_command_queue>(0x10), kernel), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(status_of(queue, reinterpret_cast<cl_kernel>(queue)), CL_INVALID_KERNEL);
  const cl_kernel gone = cl.clCreateKernel(program, "idle", nullptr);
  EXPECT_EQ(cl.clReleaseKernel(gone), CL_SUCCESS);
  EXPECT_EQ(status_of(queue, gone), CL_INVALID_KERNEL);
  EXPECT_EQ(cl.clReleaseKernel(gone), CL_INVALID_KERNEL);
}

TEST_F(Validation, ContextsMustMatch) {
  const kit::Context other = cl.context(device);
  const kit::Queue other_queue = cl.queue(other, device);
  const kit::Event foreign = cl.user_event(other);
  EXPECT_EQ(cl.launch(other_queue, make_kernel("idle"), {1}), CL_INVALID_CONTEXT);
  EXPECT_EQ(cl.launch(queue, make_kernel("idle"), {1}, {foreign}), CL_INVALID_CONTEXT);
  const cl_event both[] = {foreign, user_event()};
  EXPECT_EQ(cl.clWaitForEvents(2, both), CL_INVALID_CONTEXT);
}

TEST_F(Validation, WaitListsMustBeConsistent) {
  const cl_kernel kernel = make_kernel("idle");
  const cl_event event = user_event();
  const cl_event wrong = reinterpret_cast<cl_event>(kernel);
  const std::size_t one = 1;
  const auto launched = [&](cl_uint count, const cl_event* waits) {
    return cl.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, count, waits, nullptr);
  };
  EXPECT_EQ(launched(1, nullptr), CL_INVALID_EVENT_WAIT_LIST);
  EXPECT_EQ(launched(0, &event), CL_INVALID_EVENT_WAIT_LIST);
  EXPECT_EQ(launched(1, &wrong), CL_INVALID_EVENT_WAIT_LIST);
  EXPECT_TRUE(driver.launches().empty());
}

TEST_F(Validation, ArgumentsMustBeSetAndLive) {
  const cl_kernel kernel = make_kernel("add");
  const auto enqueued = [&] { return cl.launch(queue, kernel, {1}); };
  kit::Buffer buffer = cl.buffer(context, 4, 0);
  cl.set_argument(kernel, 0, buffer);
  EXPECT_EQ(enqueued(), CL_INVALID_KERNEL_ARGS);
  cl.set_argument(kernel, 1, cl_int{1});
  EXPECT_EQ(enqueued(), CL_SUCCESS);
  cl.clFinish(queue);
  buffer.reset();
  EXPECT_EQ(enqueued(), CL_INVALID_KERNEL_ARGS);
}

TEST_F(Validation, ArgumentsAreCheckedAgainstTheirParameters) {
  const cl_kernel kernel = make_kernel("all");
  const cl_mem buffer = make_buffer({1});
  const cl_sampler sampler =
      cl.clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, nullptr);
  const cl_mem none = nullptr;
  const cl_float4 vector{};
  const auto set = [&](cl_uint index, std::size_t size, const void* value) {
    return cl.clSetKernelArg(kernel, index, size, value);
  };
  EXPECT_EQ(set(0, sizeof buffer, &buffer), CL_SUCCESS);
  EXPECT_EQ(set(0, 4, &buffer), CL_INVALID_ARG_SIZE);
  EXPECT_EQ(set(0, sizeof kernel, &kernel), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(set(1, sizeof none, &none), CL_SUCCESS);
  EXPECT_EQ(set(2, 100, nullptr), CL_SUCCESS);
  EXPECT_EQ(set(2, 100, &vector), CL_INVALID_ARG_VALUE);
  EXPECT_EQ(set(3, sizeof vector, &vector), CL_SUCCESS);
  EXPECT_EQ(set(3, sizeof vector, nullptr), CL_INVALID_ARG_VALUE);
  EXPECT_EQ(set(5, sizeof sampler, &sampler), CL_SUCCESS);
  EXPECT_EQ(set(5, sizeof buffer, &buffer), CL_INVALID_SAMPLER);
  EXPECT_EQ(set(6, 4, &vector), CL_INVALID_ARG_INDEX);
  cl.clReleaseSampler(sampler);
}

TEST_F(KernelLaunch, ArgumentsAreCapturedAtEnqueue) {
  const cl_mem buffer = make_buffer({0});
  const cl_kernel kernel = make_add(buffer, 1);
  launch(queue, kernel);
  cl.set_argument(kernel, 1, cl_int{10});
  launch(queue, kernel);
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{11});
  const auto launches = driver.launches();
  cl_int first = 0;
  std::memcpy(&first, launches[0].arguments[1].bytes.data(), sizeof first);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(launches[0].arguments[0].kind, Argument::Kind::memory);
  EXPECT_EQ(launches[0].arguments[0].object, launches[1].arguments[0].object);
}

TEST_F(KernelLaunch, RecordsAllArguments) {
  const cl_event gate = user_event();
  const kit::Range range{{16, 8}, {4, 2}, {3, 5}};
  const kit::Event event = cl.launch_event(queue, make_kernel("idle"), range, {gate});
  launch(queue, make_kernel("other"), 100);
  const auto launches = driver.launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "idle");
  EXPECT_EQ(launches[0].work_dim, 2u);
  EXPECT_EQ(launches[0].offset, (Size3{3, 5, 0}));
  EXPECT_EQ(launches[0].global, (Size3{16, 8, 1}));
  EXPECT_EQ(launches[0].local, (Size3{4, 2, 1}));
  EXPECT_FALSE(launches[0].null_local);
  EXPECT_EQ(launches[0].waits, std::vector<std::uint64_t>{1});
  EXPECT_EQ(launches[0].event, 2u);
  EXPECT_EQ(launches[0].thread, std::this_thread::get_id());
  EXPECT_TRUE(launches[1].null_local);
  EXPECT_EQ(launches[1].local, (Size3{50, 1, 1}));
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  cl.clFinish(queue);
  const auto done = driver.launches();
  EXPECT_EQ(done[0].status, CL_COMPLETE);
  EXPECT_GT(done[0].ended, done[0].started);
  EXPECT_EQ(done[1].started, done[0].ended);
}

TEST_F(KernelLaunch, WorkItemsSeeTheirLaunch) {
  std::vector<Item> items;
  driver.kernel("idle", [&](Execution& e) {
    EXPECT_EQ(e.num_groups(), (Size3{2, 3, 1}));
    e.for_each_item([&](const Item& item) { items.push_back(item); });
  });
  EXPECT_EQ(enqueue(*this, "idle", {.dims = 2, .global = {8, 6}, .local = {4, 2}, .offset = {100, 10}}),
            CL_SUCCESS);
  cl.clFinish(queue);
  ASSERT_EQ(items.size(), 48u);
  const Item& last = items.back();
  EXPECT_EQ(last.global_id, (Size3{107, 15, 0}));
  EXPECT_EQ(last.group_id, (Size3{1, 2, 0}));
  EXPECT_EQ(last.local_id, (Size3{3, 1, 0}));
  EXPECT_EQ(last.global_linear_id, 47u);
  EXPECT_EQ(last.group_linear_id, 5u);
  EXPECT_EQ(items[8].group_linear_id, 1u);
}

TEST_F(KernelLaunch, LastGroupMayBePartial) {
  std::vector<std::size_t> sizes;
  driver.kernel("idle", [&](Execution& e) {
    e.for_each_item([&](const Item& item) {
      if (item.local_linear_id == 0) sizes.push_back(item.local_size[0]);
      EXPECT_EQ(item.enqueued_local_size[0], 4u);
    });
  });
  EXPECT_EQ(enqueue(*this, "idle", {.global = {10}, .local = {4}}), CL_SUCCESS);
  cl.clFinish(queue);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
}

TEST(ConfiguredLaunch, OffsetIsTruncatedAndSignExtended) {
  DriverFixture fixture(kit::with(Options{}, &Options::offset_bits, 32));
  std::vector<std::size_t> seen;
  fixture.driver.kernel("idle", [&](Execution& e) { seen.push_back(e.global_offset()[0]); });
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {1}, .offset = {0x7fffffff}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {1}, .offset = {0x80000000}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(fixture, "idle", {.global = {1}, .offset = {0x500000001}}), CL_SUCCESS);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(seen, (std::vector<std::size_t>{0x7fffffff, 0xffffffff80000000, 1}));
  EXPECT_EQ(fixture.driver.launches()[2].offset[0], 0x500000001u);
}

TEST_F(KernelLaunch, DefaultLocalSizeEqualsTheSuggestedOne) {
  const auto suggest = reinterpret_cast<clGetKernelSuggestedLocalWorkSizeKHR_fn>(
      cl.clGetExtensionFunctionAddressForPlatform(driver.platform(), "clGetKernelSuggestedLocalWorkSizeKHR"));
  ASSERT_NE(suggest, nullptr);
  for (const std::size_t global : {1u, 7u, 64u, 96u, 101u, 1000u}) {
    std::size_t local = 0;
    EXPECT_EQ(suggest(queue, make_kernel("idle"), 1, nullptr, &global, &local), CL_SUCCESS);
    launch(queue, make_kernel("idle"), global);
    EXPECT_EQ(driver.launches().back().local[0], local) << global;
  }
}

TEST_F(KernelLaunch, TasksAndNativeKernelsRun) {
  const cl_mem buffer = make_buffer({4});
  EXPECT_EQ(cl.clEnqueueTask(queue, make_add(buffer, 1), 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(driver.launches().back().global, (Size3{1, 1, 1}));
  struct Arguments {
    cl_int* data;
    cl_int factor;
  } arguments{nullptr, 3};
  const void* place = &arguments.data;
  const auto multiply = [](void* given) {
    const auto& a = *static_cast<Arguments*>(given);
    *a.data *= a.factor;
  };
  EXPECT_EQ(cl.clEnqueueNativeKernel(queue, multiply, &arguments, sizeof arguments, 1, &buffer, &place, 0,
                                     nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{15});
}

TEST_F(KernelLaunch, CloneCopiesArguments) {
  const cl_mem buffer = make_buffer({0});
  const cl_kernel original = make_add(buffer, 1);
  const kit::Kernel clone = cl.own(cl.clCloneKernel(original, nullptr));
  cl.set_argument(original, 1, cl_int{100});
  launch(queue, clone);
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{1});
}

}  // namespace
}  // namespace cleave::sim
