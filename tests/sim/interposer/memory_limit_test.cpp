// Memory limits: what is refused and how, and when memory counts as free again.
#include <array>
#include <functional>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "interpose/drivers/device_facts.h"
#include "limits/memory_ledger.h"
#include "tests/kit/sanitizers.h"
#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

constexpr std::size_t kLimit = 1 << 20;
// The fixture has a buffer itself.
constexpr std::size_t kFixtures = InterposerFixture::kItems * sizeof(cl_int);
constexpr std::size_t kLeft = kLimit - kFixtures;

struct LedgerFolder {
  kit::TemporaryFolder folder;
};

base::Settings with_limit(const std::string& registry, const std::string& tenant = "") {
  base::Settings settings = default_settings();
  settings.registry = registry;
  settings.limits.memory = kLimit;
  settings.limits.tenant = tenant;
  return settings;
}

struct MemoryLimitTest : LedgerFolder, InterposerFixture, testing::Test {
  MemoryLimitTest() : InterposerFixture(with_limit(folder.path())) {}

  cl_mem create(std::size_t size, cl_int* error = nullptr) const {
    return cl.clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, error);
  }
  static std::uint64_t booked() {
    const auto report = interpose::interposer().memory.report();
    return report.empty() ? 0 : report[0].bytes;
  }
};

TEST_F(MemoryLimitTest, BuffersAreRefusedBeyondTheByte) {
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(create(kLeft + 1, &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  cl_mem const all = create(kLeft, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(create(1), nullptr);
  EXPECT_EQ(cl.clReleaseMemObject(all), CL_SUCCESS);
  cl_mem const again = create(kLeft, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  cl.clReleaseMemObject(again);
  EXPECT_EQ(booked(), kFixtures);
}

TEST_F(MemoryLimitTest, WhatIsLargerThanTheDeviceSaysIsNoLackOfMemory) {
  cl_ulong largest = 0;
  cl.clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, nullptr);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(create(largest + 1, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_BUFFER_SIZE);
  EXPECT_EQ(create(largest, &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(cl.clCreateBufferWithProperties(context, nullptr, 0, largest + 1, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_BUFFER_SIZE);
}

TEST_F(MemoryLimitTest, WhatTheDriverRefusesIsNotBooked) {
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(create(0, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_BUFFER_SIZE);
  EXPECT_EQ(cl.clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 16, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_HOST_PTR);
  EXPECT_EQ(booked(), kFixtures);
}

TEST_F(MemoryLimitTest, EveryReferenceKeepsItBooked) {
  cl_mem const object = create(kLeft);
  cl.clRetainMemObject(object);
  cl.clReleaseMemObject(object);
  EXPECT_EQ(create(1), nullptr);
  cl.clReleaseMemObject(object);
  EXPECT_EQ(booked(), kFixtures);
}

TEST_F(MemoryLimitTest, ASubBufferCountsOnceAndKeepsItsParentBooked) {
  cl_mem const parent = create(kLeft);
  cl_int error = CL_SUCCESS;
  const cl_buffer_region region{0, 1024};
  cl_mem const part = cl.clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  EXPECT_EQ(error, CL_SUCCESS) << "it takes nothing itself";
  cl.clReleaseMemObject(parent);
  EXPECT_EQ(booked(), kLimit) << "the driver keeps the parent";
  cl.clReleaseMemObject(part);
  EXPECT_EQ(booked(), kFixtures);
}

TEST_F(MemoryLimitTest, ACommandInFlightKeepsItBooked) {
  cl_mem const object = create(kLeft);
  const cl_event gate = user_event();
  const cl_int pattern = 7;
  ASSERT_EQ(cl.clEnqueueFillBuffer(queue, object, &pattern, sizeof pattern, 0, 1024, 1, &gate, nullptr),
            CL_SUCCESS);
  cl.clReleaseMemObject(object);
  EXPECT_EQ(booked(), kLimit);
  EXPECT_EQ(create(1), nullptr);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  cl.clFinish(queue);
  EXPECT_EQ(booked(), kFixtures);
}

TEST_F(MemoryLimitTest, OtherWaysToABufferCountAsWell) {
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(cl.clCreateBufferWithProperties(context, nullptr, 0, kLeft + 1, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  std::vector<char> host(kLeft + 1);
  EXPECT_EQ(cl.clCreateBuffer(context, CL_MEM_USE_HOST_PTR, host.size(), host.data(), &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(MemoryLimitTest, ImagesCountAsTheDriverSays) {
  const cl_image_format format{CL_RGBA, CL_FLOAT};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = 256;
  shape.image_height = 256;  // 1 MiB
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(cl.clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(cl.clCreateImage2D(context, CL_MEM_READ_WRITE, &format, 256, 256, 0, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(cl.clCreateImage3D(context, CL_MEM_READ_WRITE, &format, 16, 16, 256, 0, 0, nullptr, &error),
            nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  shape.image_height = 128;
  cl_mem const image = cl.clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  std::size_t size = 0;
  cl.clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof size, &size, nullptr);
  EXPECT_EQ(booked(), kFixtures + size);
  cl.clReleaseMemObject(image);
  EXPECT_EQ(booked(), kFixtures);
}

TEST_F(MemoryLimitTest, SharedVirtualMemoryBeyondItIsNull) {
  EXPECT_EQ(cl.clSVMAlloc(context, CL_MEM_READ_WRITE, kLeft + 1, 0), nullptr);
  void* const memory = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, kLeft, 0);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(cl.clSVMAlloc(context, CL_MEM_READ_WRITE, 1, 0), nullptr);
  cl.clSVMFree(context, memory);
  EXPECT_EQ(booked(), kFixtures);
}

TEST_F(MemoryLimitTest, SharedVirtualMemoryThatACommandFreesIsFreeWhenItHasEnded) {
  void* memory = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, kLeft, 0);
  const cl_event gate = user_event();
  ASSERT_EQ(cl.clEnqueueSVMFree(queue, 1, &memory, nullptr, nullptr, 1, &gate, nullptr), CL_SUCCESS);
  EXPECT_EQ(create(1), nullptr);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  cl.clFinish(queue);
  cl_int error = CL_SUCCESS;
  cl_mem const object = create(kLeft, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  cl.clReleaseMemObject(object);
}

TEST_F(MemoryLimitTest, AWaitEndsTheBookingsOfWhatCommandsHaveFreed) {
  const std::function<void(cl_event)> waits[] = {
      [this](cl_event) { cl.clFinish(queue); }, [this](cl_event event) { cl.wait({event}); },
      [this](cl_event) {
        cl_int first = 0;
        cl.read(queue, buffer, kit::Blocking::yes, std::span(&first, 1));
      }};
  for (const auto& wait : waits) {
    void* memory = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, kLeft, 0);
    kit::Event freed = cl.event();
    ASSERT_EQ(cl.clEnqueueSVMFree(queue, 1, &memory, nullptr, nullptr, 0, nullptr, freed.out()), CL_SUCCESS);
    wait(freed);
    EXPECT_EQ(booked(), kFixtures) << "another process of the tenant may have it";
  }
}

TEST_F(MemoryLimitTest, WhatARefusedCommandDoesNotFreeStaysBooked) {
  void* memory = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, kLeft, 0);
  EXPECT_NE(cl.clEnqueueSVMFree(queue, 1, &memory, nullptr, nullptr, 1, nullptr, nullptr), CL_SUCCESS);
  cl.clFinish(queue);
  EXPECT_EQ(booked(), kLimit);
  cl.clSVMFree(context, memory);
  EXPECT_EQ(booked(), kFixtures);
}

// A driver that gives an address away again as soon as it is free.
Table with_one_address() {
  Table table = sim::Driver::table();
  table.clSVMAlloc = [](cl_context, cl_svm_mem_flags, size_t, cl_uint) -> void* {
    static char memory = 0;
    return &memory;
  };
  table.clSVMFree = [](cl_context, void*) {};
  table.clEnqueueSVMFree = [](cl_command_queue queue, cl_uint, void**,
                              void(CL_CALLBACK*)(cl_command_queue, cl_uint, void**, void*), void*,
                              cl_uint count, const cl_event* waits, cl_event* event) {
    return sim::Driver::table().clEnqueueMarkerWithWaitList(queue, count, waits, event);
  };
  return table;
}

struct ReusedAddressTest : LedgerFolder, InterposerFixture, testing::Test {
  ReusedAddressTest()
      : InterposerFixture(with_limit(folder.path()), default_driver(), 0, with_one_address()) {}

  void* allocate(std::size_t size) const { return cl.clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0); }
  void free_by_command(void* memory) const {
    EXPECT_EQ(cl.clEnqueueSVMFree(queue, 1, &memory, nullptr, nullptr, 0, nullptr, nullptr), CL_SUCCESS);
  }
  static std::uint64_t booked() { return interpose::interposer().memory.report()[0].bytes; }
};

TEST_F(ReusedAddressTest, WhatACommandHasFreedIsNotTheAddresssNextUse) {
  for (int round = 0; round < 3; ++round) {
    void* const first = allocate(kLeft / 2);
    ASSERT_NE(first, nullptr) << round;
    free_by_command(first);
    // The command has ended in the driver, and nothing has been collected since.
    void* const second = allocate(kLeft / 4);
    ASSERT_NE(second, nullptr) << round;
    cl.clFinish(queue);
    EXPECT_EQ(booked(), kFixtures + kLeft / 4) << "the second one still lives";
    cl.clSVMFree(context, second);
    EXPECT_EQ(booked(), kFixtures);
  }
}

TEST_F(ReusedAddressTest, AnAddressThatComesAgainWasFree) {
  ASSERT_NE(allocate(kLeft), nullptr);
  void* const again = allocate(0);
  EXPECT_EQ(booked(), kFixtures);
  cl.clSVMFree(context, again);
}

TEST_F(MemoryLimitTest, TheDevicesQueriesTellTheLimit) {
  for (const cl_device_info name : {CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_MAX_MEM_ALLOC_SIZE}) {
    cl_ulong bytes = 0;
    EXPECT_EQ(cl.clGetDeviceInfo(device, name, sizeof bytes, &bytes, nullptr), CL_SUCCESS);
    EXPECT_EQ(bytes, kLimit);
    std::size_t size = 0;
    EXPECT_EQ(cl.clGetDeviceInfo(device, name, 0, nullptr, &size), CL_SUCCESS);
    EXPECT_EQ(size, sizeof bytes);
    EXPECT_EQ(cl.clGetDeviceInfo(device, name, 1, &bytes, nullptr), CL_INVALID_VALUE);
  }
}

TEST_F(MemoryLimitTest, TheReportHasTheHighWaterMarkAndWhatWasRefused) {
  cl_mem const object = create(1000);
  cl.clReleaseMemObject(object);
  EXPECT_EQ(create(kLimit), nullptr);
  const auto report = interpose::interposer().memory.report();
  ASSERT_EQ(report.size(), 1U);
  EXPECT_EQ(report[0].device, "Simulated device");
  EXPECT_EQ(report[0].bytes, kFixtures);
  EXPECT_EQ(report[0].peak, kFixtures + 1000);
  EXPECT_EQ(report[0].limit, kLimit);
  EXPECT_EQ(report[0].refused, 1U);
}

TEST_F(MemoryLimitTest, AForkedChildHasTheLimitForItself) {
  if (kit::kThreadSanitizer) GTEST_SKIP() << "it cannot follow a fork";
  interpose::interposer().before_fork();
  const pid_t child = fork();
  if (child == 0) {
    interpose::interposer().after_fork_in_child();
    const bool fits = interpose::interposer().memory.book(context, nullptr, kLimit) != nullptr;
    const bool refused = interpose::interposer().memory.book(context, nullptr, 1) == nullptr;
    _exit(fits && refused ? 0 : 1);
  }
  interpose::interposer().after_fork_in_parent();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(booked(), kFixtures);
}

struct TenantsMemoryLimitTest : LedgerFolder, InterposerFixture, testing::Test {
  TenantsMemoryLimitTest() : InterposerFixture(with_limit(folder.path(), "alice")) {}
};

TEST_F(TenantsMemoryLimitTest, WhatAnotherProcessHasCounts) {
  std::string problem;
  auto other = limits::MemoryLedger::open(
      folder.path(), std::to_string(interpose::identity_of(sim::Driver::table(), driver.device())), "alice",
      problem);
  ASSERT_TRUE(other) << problem;
  EXPECT_EQ(other->book(kLeft, kLimit), limits::MemoryLedger::Answer::booked);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(cl.clCreateBuffer(context, 0, 1, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  other.reset();
  cl_mem const object = cl.clCreateBuffer(context, 0, kLeft, nullptr, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  cl.clReleaseMemObject(object);
}

// Without destructor callbacks.
Table without_callbacks() {
  Table table = sim::Driver::table();
  table.clSetMemObjectDestructorCallback = nullptr;
  return table;
}

struct OldDriverMemoryLimitTest : LedgerFolder, InterposerFixture, testing::Test {
  OldDriverMemoryLimitTest()
      : InterposerFixture(with_limit(folder.path()), default_driver(), 0, without_callbacks()) {}
};

TEST_F(OldDriverMemoryLimitTest, TheLastReferenceOfTheProgramFreesIt) {
  cl_int error = CL_SUCCESS;
  cl_mem const object = cl.clCreateBuffer(context, 0, kLeft, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(cl.clCreateBuffer(context, 0, 1, nullptr, nullptr), nullptr);
  cl.clReleaseMemObject(object);
  cl_mem const again = cl.clCreateBuffer(context, 0, kLeft, nullptr, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  cl.clReleaseMemObject(again);
}

TEST(LiveMemoryLimits, ALimitThatAppearsCountsFromThenOn) {
  const kit::TemporaryFolder folder;
  const sim::Driver driver(default_driver());
  base::Configuration configuration;
  configuration.file = folder.write("cleave.toml", "[turns]\nweight = 5\n");
  limits::LiveLimits live(configuration);
  base::ForkLocks forks;
  interpose::ObjectRecords records(forks);
  interpose::Devices devices(forks, sim::Driver::table(), configuration.settings, records);
  interpose::MemoryLimits memory(forks, sim::Driver::table(), devices, live, "");
  EXPECT_FALSE(memory.active());
  folder.write("cleave.toml", "[limits]\nmemory = \"8M\"\n");
  EXPECT_TRUE(kit::eventually([&] { return memory.active(); })) << "nobody else looks at the file";
}

struct UnlimitedMemoryTest : InterposerFixture, testing::Test {};

TEST_F(UnlimitedMemoryTest, NothingIsCounted) {
  EXPECT_FALSE(interpose::interposer().memory.active());
  EXPECT_TRUE(interpose::interposer().memory.report().empty());
  cl_ulong bytes = 0;
  cl.clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  EXPECT_EQ(bytes, default_driver().memory_size);
}

}  // namespace
}  // namespace cleave
