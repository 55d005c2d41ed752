// Launches: validation, work-item ids, captured arguments, what is recorded of them.
#include <chrono>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/rig.h"

namespace cleave::sim {
namespace {

using namespace std::chrono_literals;

struct Range {
  cl_uint dims = 1;
  std::vector<std::size_t> global{64};
  std::vector<std::size_t> local{};   // empty: NULL
  std::vector<std::size_t> offset{};  // empty: NULL
};

const std::size_t* or_null(const std::vector<std::size_t>& values) {
  return values.empty() ? nullptr : values.data();
}

cl_int enqueue(Rig& rig, const char* kernel, const Range& range) {
  return rig.cl.clEnqueueNDRangeKernel(rig.queue, rig.make_kernel(kernel), range.dims, or_null(range.offset),
                                       or_null(range.global), or_null(range.local), 0, nullptr, nullptr);
}

TEST(Validation, RefusesWhatIsNoNDRange) {
  Rig rig;
  EXPECT_EQ(enqueue(rig, "idle", {.dims = 0}), CL_INVALID_WORK_DIMENSION);
  EXPECT_EQ(enqueue(rig, "idle", {.dims = 4, .global = {1, 1, 1, 1}}), CL_INVALID_WORK_DIMENSION);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {}}), CL_INVALID_GLOBAL_WORK_SIZE);
  EXPECT_EQ(enqueue(rig, "idle", {.dims = 2, .global = {4, 0}}), CL_INVALID_GLOBAL_WORK_SIZE);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {2}, .local = {}, .offset = {~std::size_t{0}}}),
            CL_INVALID_GLOBAL_OFFSET);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {1}, .local = {}, .offset = {~std::size_t{0}}}), CL_SUCCESS);
  EXPECT_TRUE(rig.driver.launches().size() == 1);
}

TEST(Validation, AddressBitsBoundGlobalIds) {
  Options options;
  options.address_bits = 32;
  options.per_item = 0ns;
  Rig rig(options);
  const std::size_t top = std::size_t{1} << 32;
  EXPECT_EQ(enqueue(rig, "idle", {.global = {top}}), CL_INVALID_GLOBAL_WORK_SIZE);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {64}, .local = {}, .offset = {top - 63}}),
            CL_INVALID_GLOBAL_OFFSET);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {64}, .local = {}, .offset = {top - 64}}), CL_SUCCESS);
}

TEST(Validation, WorkGroupsMustFitTheDeviceAndTheKernel) {
  Options options;
  options.non_uniform = false;
  options.max_work_group_size = 64;
  options.max_work_item_sizes = {64, 8, 4};
  Rig rig(options);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {65}, .local = {64}}), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {64}, .local = {0}}), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {128}, .local = {128}}), CL_INVALID_WORK_ITEM_SIZE);
  EXPECT_EQ(enqueue(rig, "idle", {.dims = 2, .global = {64, 8}, .local = {64, 2}}),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(rig, "idle", {.dims = 2, .global = {64, 8}, .local = {8, 8}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(rig, "fixed", {.dims = 2, .global = {8, 2}, .local = {4, 2}}),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(rig, "fixed", {.dims = 2, .global = {8, 2}}), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(enqueue(rig, "fixed", {.dims = 2, .global = {16, 4}, .local = {8, 2}}), CL_SUCCESS);
}

TEST(Validation, OptionsAllowWhatSomeDriversDo) {
  Options options;
  options.non_uniform = true;
  options.required_size_refuses_null = false;
  options.zero_global_size = true;
  Rig rig(options);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {65}, .local = {64}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(rig, "fixed", {.dims = 2, .global = {16, 4}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(rig, "idle", {.dims = 2, .global = {4, 0}}), CL_SUCCESS);
  EXPECT_EQ(rig.driver.launches()[1].local, (Size3{8, 2, 1}));
  EXPECT_EQ(rig.driver.launches()[2].items(), 0u);
}

TEST(Validation, UniformBuildsNeedUniformGroups) {
  Rig rig;
  rig.cl.clReleaseProgram(rig.program);
  rig.program = rig.cl.clCreateProgramWithSource(rig.context, 1, const_cast<const char**>(&rig_source),
                                                 nullptr, nullptr);
  rig.cl.clBuildProgram(rig.program, 0, nullptr, "-cl-uniform-work-group-size", nullptr, nullptr);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {65}, .local = {64}}), CL_INVALID_WORK_GROUP_SIZE);
}

TEST(Validation, HandlesOfOtherKindsAndStaleOnesAreRefused) {
  Rig rig;
  const cl_kernel kernel = rig.make_kernel("idle");
  const std::size_t one = 1;
  const auto launch = [&](cl_command_queue queue, cl_kernel which) {
    return rig.cl.clEnqueueNDRangeKernel(queue, which, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
  };
  EXPECT_EQ(launch(nullptr, kernel), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(launch(reinterpret_cast<cl_command_queue>(kernel), kernel), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(launch(reinterpret_cast<cl_command_queue>(0x10), kernel), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(launch(rig.queue, reinterpret_cast<cl_kernel>(rig.queue)), CL_INVALID_KERNEL);
  const cl_kernel gone = rig.cl.clCreateKernel(rig.program, "idle", nullptr);
  EXPECT_EQ(rig.cl.clReleaseKernel(gone), CL_SUCCESS);
  EXPECT_EQ(launch(rig.queue, gone), CL_INVALID_KERNEL);
  EXPECT_EQ(rig.cl.clReleaseKernel(gone), CL_INVALID_KERNEL);
}

TEST(Validation, ContextsMustMatch) {
  Rig rig;
  const cl_device_id device = rig.driver.device();
  const cl_context other = rig.cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_command_queue queue = rig.cl.clCreateCommandQueue(other, device, 0, nullptr);
  const cl_event foreign = rig.cl.clCreateUserEvent(other, nullptr);
  const std::size_t one = 1;
  EXPECT_EQ(rig.cl.clEnqueueNDRangeKernel(queue, rig.make_kernel("idle"), 1, nullptr, &one, nullptr, 0,
                                          nullptr, nullptr),
            CL_INVALID_CONTEXT);
  EXPECT_EQ(rig.cl.clEnqueueNDRangeKernel(rig.queue, rig.make_kernel("idle"), 1, nullptr, &one, nullptr, 1,
                                          &foreign, nullptr),
            CL_INVALID_CONTEXT);
  const cl_event both[] = {foreign, rig.user_event()};
  EXPECT_EQ(rig.cl.clWaitForEvents(2, both), CL_INVALID_CONTEXT);
  rig.cl.clReleaseEvent(foreign);
  rig.cl.clReleaseCommandQueue(queue);
  rig.cl.clReleaseContext(other);
}

TEST(Validation, WaitListsMustBeConsistent) {
  Rig rig;
  const cl_kernel kernel = rig.make_kernel("idle");
  const cl_event event = rig.user_event();
  const cl_event wrong = reinterpret_cast<cl_event>(kernel);
  const std::size_t one = 1;
  const auto launch = [&](cl_uint count, const cl_event* waits) {
    return rig.cl.clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &one, nullptr, count, waits, nullptr);
  };
  EXPECT_EQ(launch(1, nullptr), CL_INVALID_EVENT_WAIT_LIST);
  EXPECT_EQ(launch(0, &event), CL_INVALID_EVENT_WAIT_LIST);
  EXPECT_EQ(launch(1, &wrong), CL_INVALID_EVENT_WAIT_LIST);
  EXPECT_TRUE(rig.driver.launches().empty());
}

TEST(Validation, ArgumentsMustBeSetAndAlive) {
  Rig rig;
  const cl_kernel kernel = rig.make_kernel("add");
  const std::size_t one = 1;
  const auto launch = [&] {
    return rig.cl.clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
  };
  cl_mem buffer = rig.cl.clCreateBuffer(rig.context, 0, 4, nullptr, nullptr);
  rig.cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  EXPECT_EQ(launch(), CL_INVALID_KERNEL_ARGS);
  const cl_int n = 1;
  rig.cl.clSetKernelArg(kernel, 1, sizeof n, &n);
  EXPECT_EQ(launch(), CL_SUCCESS);
  rig.cl.clFinish(rig.queue);
  rig.cl.clReleaseMemObject(buffer);
  EXPECT_EQ(launch(), CL_INVALID_KERNEL_ARGS);
}

TEST(Validation, ArgumentsGoByTheirParameters) {
  Rig rig;
  const cl_kernel kernel = rig.make_kernel("all");
  const cl_mem buffer = rig.make_buffer({1});
  const cl_sampler sampler =
      rig.cl.clCreateSampler(rig.context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, nullptr);
  const cl_mem none = nullptr;
  const cl_float4 vector{};
  const auto set = [&](cl_uint index, std::size_t size, const void* value) {
    return rig.cl.clSetKernelArg(kernel, index, size, value);
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
  rig.cl.clReleaseSampler(sampler);
}

TEST(Launch, ArgumentsAreThoseOfTheEnqueue) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer({0});
  const cl_kernel kernel = rig.make_add(buffer, 1);
  rig.launch(rig.queue, kernel);
  const cl_int more = 10;
  rig.cl.clSetKernelArg(kernel, 1, sizeof more, &more);
  rig.launch(rig.queue, kernel);
  EXPECT_EQ(rig.read(buffer, 1), std::vector<cl_int>{11});
  const auto launches = rig.driver.launches();
  cl_int first = 0;
  std::memcpy(&first, launches[0].arguments[1].bytes.data(), sizeof first);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(launches[0].arguments[0].kind, Argument::Kind::memory);
  EXPECT_EQ(launches[0].arguments[0].object, launches[1].arguments[0].object);
}

TEST(Launch, RecordsAllThatTheProgramAskedFor) {
  Rig rig;
  const cl_event gate = rig.user_event();
  const std::size_t offset[] = {3, 5};
  const std::size_t global[] = {16, 8};
  const std::size_t local[] = {4, 2};
  cl_event event = nullptr;
  EXPECT_EQ(rig.cl.clEnqueueNDRangeKernel(rig.queue, rig.make_kernel("idle"), 2, offset, global, local, 1,
                                          &gate, &event),
            CL_SUCCESS);
  rig.keep(event);
  rig.launch(rig.queue, rig.make_kernel("other"), 100);
  const auto launches = rig.driver.launches();
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
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  rig.cl.clFinish(rig.queue);
  const auto done = rig.driver.launches();
  EXPECT_EQ(done[0].status, CL_COMPLETE);
  EXPECT_GT(done[0].ended, done[0].started);
  EXPECT_EQ(done[1].started, done[0].ended);
}

TEST(Launch, ItemsSeeTheirOwnLaunchOnly) {
  Rig rig;
  std::vector<Item> items;
  rig.driver.kernel("idle", [&](Execution& e) {
    EXPECT_EQ(e.num_groups(), (Size3{2, 3, 1}));
    e.for_each_item([&](const Item& item) { items.push_back(item); });
  });
  EXPECT_EQ(enqueue(rig, "idle", {.dims = 2, .global = {8, 6}, .local = {4, 2}, .offset = {100, 10}}),
            CL_SUCCESS);
  rig.cl.clFinish(rig.queue);
  ASSERT_EQ(items.size(), 48u);
  const Item& last = items.back();
  EXPECT_EQ(last.global_id, (Size3{107, 15, 0}));
  EXPECT_EQ(last.group_id, (Size3{1, 2, 0}));
  EXPECT_EQ(last.local_id, (Size3{3, 1, 0}));
  EXPECT_EQ(last.global_linear_id, 47u);
  EXPECT_EQ(last.group_linear_id, 5u);
  EXPECT_EQ(items[8].group_linear_id, 1u);
}

TEST(Launch, TheLastGroupMayBeSmaller) {
  Rig rig;
  std::vector<std::size_t> sizes;
  rig.driver.kernel("idle", [&](Execution& e) {
    e.for_each_item([&](const Item& item) {
      if (item.local_linear_id == 0) sizes.push_back(item.local_size[0]);
      EXPECT_EQ(item.enqueued_local_size[0], 4u);
    });
  });
  EXPECT_EQ(enqueue(rig, "idle", {.global = {10}, .local = {4}}), CL_SUCCESS);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
}

TEST(Launch, OffsetBitsAreKeptAndSignExtended) {
  Options options;
  options.offset_bits = 32;
  Rig rig(options);
  std::vector<std::size_t> seen;
  rig.driver.kernel("idle", [&](Execution& e) { seen.push_back(e.global_offset()[0]); });
  EXPECT_EQ(enqueue(rig, "idle", {.global = {1}, .local = {}, .offset = {0x7fffffff}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {1}, .local = {}, .offset = {0x80000000}}), CL_SUCCESS);
  EXPECT_EQ(enqueue(rig, "idle", {.global = {1}, .local = {}, .offset = {0x500000001}}), CL_SUCCESS);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(seen, (std::vector<std::size_t>{0x7fffffff, 0xffffffff80000000, 1}));
  EXPECT_EQ(rig.driver.launches()[2].offset[0], 0x500000001u);
}

TEST(Launch, TheDriversLocalSizeIsTheOneItSuggests) {
  Rig rig;
  const auto suggest = reinterpret_cast<clGetKernelSuggestedLocalWorkSizeKHR_fn>(
      rig.cl.clGetExtensionFunctionAddressForPlatform(rig.driver.platform(),
                                                      "clGetKernelSuggestedLocalWorkSizeKHR"));
  ASSERT_NE(suggest, nullptr);
  for (const std::size_t global : {1u, 7u, 64u, 96u, 101u, 1000u}) {
    std::size_t local = 0;
    EXPECT_EQ(suggest(rig.queue, rig.make_kernel("idle"), 1, nullptr, &global, &local), CL_SUCCESS);
    rig.launch(rig.queue, rig.make_kernel("idle"), global);
    EXPECT_EQ(rig.driver.launches().back().local[0], local) << global;
  }
}

TEST(Launch, TasksAndNativeKernelsAreCommandsToo) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer({4});
  EXPECT_EQ(rig.cl.clEnqueueTask(rig.queue, rig.make_add(buffer, 1), 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(rig.driver.launches().back().global, (Size3{1, 1, 1}));
  struct Arguments {
    cl_int* data;
    cl_int factor;
  } arguments{nullptr, 3};
  const void* place = &arguments.data;
  const auto multiply = [](void* given) {
    const auto& a = *static_cast<Arguments*>(given);
    *a.data *= a.factor;
  };
  EXPECT_EQ(rig.cl.clEnqueueNativeKernel(rig.queue, multiply, &arguments, sizeof arguments, 1, &buffer,
                                         &place, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(rig.read(buffer, 1), std::vector<cl_int>{15});
}

TEST(Launch, CloningTakesTheArgumentsAlong) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer({0});
  const cl_kernel original = rig.make_add(buffer, 1);
  const cl_kernel clone = rig.cl.clCloneKernel(original, nullptr);
  const cl_int hundred = 100;
  rig.cl.clSetKernelArg(original, 1, sizeof hundred, &hundred);
  rig.launch(rig.queue, clone);
  EXPECT_EQ(rig.read(buffer, 1), std::vector<cl_int>{1});
  rig.cl.clReleaseKernel(clone);
}

}  // namespace
}  // namespace cleave::sim
