// Buffers, images, mapping and shared virtual memory.
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

using namespace std::chrono_literals;

std::vector<cl_int> counting(std::size_t count) {
  std::vector<cl_int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Memory, ValidatesFlagsAndHostPointers) {
  DriverFixture fixture;
  cl_int code = 0;
  int host = 0;
  const auto create = [&](cl_mem_flags flags, std::size_t size, void* pointer) {
    const cl_mem buffer = fixture.cl.clCreateBuffer(fixture.context, flags, size, pointer, &code);
    if (buffer != nullptr) fixture.cl.clReleaseMemObject(buffer);
    return code;
  };
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 4, nullptr), CL_SUCCESS);
  EXPECT_EQ(create(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 4, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(create(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 4, &host), CL_INVALID_VALUE);
  EXPECT_EQ(create(CL_MEM_COPY_HOST_PTR, 4, nullptr), CL_INVALID_HOST_PTR);
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 4, &host), CL_INVALID_HOST_PTR);
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 0, nullptr), CL_INVALID_BUFFER_SIZE);
}

TEST(Memory, WriteCopyFillAndReadTransferBytes) {
  DriverFixture fixture;
  const cl_mem first = fixture.make_buffer(std::vector<cl_int>(8));
  const cl_mem second = fixture.make_buffer(std::vector<cl_int>(8));
  const auto values = counting(8);
  EXPECT_EQ(fixture.cl.clEnqueueWriteBuffer(fixture.queue, first, CL_FALSE, 0, 32, values.data(), 0, nullptr,
                                            nullptr),
            CL_SUCCESS);
  EXPECT_EQ(fixture.cl.copy(fixture.queue, first, second, 16, 8, 0), CL_SUCCESS);
  const cl_int nine = 9;
  EXPECT_EQ(fixture.cl.fill(fixture.queue, second, nine, 2, 16), CL_SUCCESS);
  EXPECT_EQ(fixture.read(second, 8), (std::vector<cl_int>{2, 3, 4, 5, 9, 9, 0, 0}));
  EXPECT_EQ(fixture.cl.copy(fixture.queue, first, first, 8, 0, 4), CL_MEM_COPY_OVERLAP);
  EXPECT_EQ(fixture.cl.copy(fixture.queue, first, second, 16, 0, 24), CL_INVALID_VALUE);
}

TEST(Memory, RectTransfers) {
  DriverFixture fixture;
  const cl_mem buffer = fixture.make_buffer(counting(16));  // 4 x 4
  const std::size_t origin[] = {4, 1, 0};
  const std::size_t host_origin[] = {0, 0, 0};
  const std::size_t region[] = {8, 2, 1};
  std::vector<cl_int> host(4);
  EXPECT_EQ(fixture.cl.clEnqueueReadBufferRect(fixture.queue, buffer, CL_TRUE, origin, host_origin, region,
                                               16, 0, 0, 0, host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host, (std::vector<cl_int>{5, 6, 9, 10}));
  host = {-1, -2, -3, -4};
  EXPECT_EQ(fixture.cl.clEnqueueWriteBufferRect(fixture.queue, buffer, CL_TRUE, host_origin, host_origin,
                                                region, 16, 0, 0, 0, host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  const std::size_t corner[] = {8, 2, 0};
  EXPECT_EQ(fixture.cl.clEnqueueCopyBufferRect(fixture.queue, buffer, buffer, host_origin, corner, region, 16,
                                               0, 16, 0, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(fixture.read(buffer, 16),
            (std::vector<cl_int>{-1, -2, 2, 3, -3, -4, 6, 7, 8, 9, -1, -2, 12, 13, -3, -4}));
  const std::size_t beyond[] = {12, 3, 0};
  EXPECT_EQ(fixture.cl.clEnqueueReadBufferRect(fixture.queue, buffer, CL_TRUE, beyond, host_origin, region,
                                               16, 0, 0, 0, host.data(), 0, nullptr, nullptr),
            CL_INVALID_VALUE);
}

TEST(Memory, MappedRegionIsASnapshot) {
  DriverFixture fixture;
  const cl_mem buffer = fixture.make_buffer({1, 2});
  const cl_kernel add = fixture.make_add(buffer, 10);
  fixture.launch(fixture.queue, add, 2);
  cl_int code = 0;
  auto* mapped = static_cast<cl_int*>(fixture.cl.clEnqueueMapBuffer(
      fixture.queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 8, 0, nullptr, nullptr, &code));
  ASSERT_EQ(code, CL_SUCCESS);
  EXPECT_EQ(mapped[0], 11);
  mapped[1] = 100;
  EXPECT_EQ(fixture.cl.unmap(fixture.queue, buffer, mapped), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.unmap(fixture.queue, buffer, mapped), CL_INVALID_VALUE);
  EXPECT_EQ(fixture.read(buffer, 2), (std::vector<cl_int>{11, 100}));
}

TEST(Memory, UnorderedMapSeesOldData) {
  DriverFixture fixture;
  const cl_mem buffer = fixture.make_buffer({1});
  const cl_event gate = fixture.user_event();
  fixture.launch(fixture.queue, fixture.make_add(buffer, 10), 1, {gate});
  const cl_command_queue other = fixture.make_queue();
  const auto* mapped = static_cast<cl_int*>(
      fixture.cl.clEnqueueMapBuffer(other, buffer, CL_TRUE, CL_MAP_READ, 0, 4, 0, nullptr, nullptr, nullptr));
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(*mapped, 1);
  fixture.cl.unmap(other, buffer, mapped);
}

TEST(Memory, HostPointerMemoryIsMappedInPlace) {
  DriverFixture fixture;
  std::array<cl_int, 4> host{1, 2, 3, 4};
  const kit::Buffer buffer =
      fixture.cl.buffer(fixture.context, sizeof host, CL_MEM_USE_HOST_PTR, host.data());
  void* mapped = fixture.cl.clEnqueueMapBuffer(fixture.queue, buffer, CL_TRUE, CL_MAP_READ, 8, 8, 0, nullptr,
                                               nullptr, nullptr);
  EXPECT_EQ(mapped, &host[2]);
  const auto maps = fixture.cl.info<cl_uint>(buffer, CL_MEM_MAP_COUNT);
  EXPECT_EQ(maps, 1u);
  fixture.cl.unmap(fixture.queue, buffer, mapped);
}

TEST(Memory, SubBuffersAliasTheirParent) {
  DriverFixture fixture;
  const cl_mem buffer = fixture.make_buffer(counting(64));
  cl_buffer_region region{128, 8};
  cl_int code = 0;
  const kit::Buffer sub =
      fixture.cl.own(fixture.cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
  ASSERT_EQ(code, CL_SUCCESS);
  fixture.launch(fixture.queue, fixture.make_add(sub, 1000), 2);
  EXPECT_EQ(fixture.read(buffer, 35)[33], 1033);
  region.origin = 4;
  EXPECT_EQ(fixture.cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code), nullptr);
  EXPECT_EQ(code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
  EXPECT_EQ(fixture.cl.clCreateSubBuffer(sub, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_MEM_OBJECT);
}

TEST(Memory, HostAccessFlagsAreEnforced) {
  DriverFixture fixture;
  const kit::Buffer buffer = fixture.cl.buffer(fixture.context, 4, CL_MEM_HOST_NO_ACCESS);
  cl_int value = 0;
  EXPECT_EQ(fixture.cl.clEnqueueReadBuffer(fixture.queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr),
            CL_INVALID_OPERATION);
  EXPECT_EQ(
      fixture.cl.clEnqueueWriteBuffer(fixture.queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr),
      CL_INVALID_OPERATION);
}

TEST(Memory, CommandRetainsItsObjects) {
  DriverFixture fixture;
  const cl_mem buffer = fixture.cl.clCreateBuffer(fixture.context, 0, 4, nullptr, nullptr);
  fixture.launch(fixture.queue, fixture.make_add(buffer, 1));
  EXPECT_EQ(fixture.cl.clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.live(Kind::memory), 1u);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.driver.live(Kind::memory), 0u);
}

TEST(Image, ReadsAndWritesPixels) {
  DriverFixture fixture;
  const cl_image_format format{CL_R, CL_SIGNED_INT32};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = 4;
  desc.image_height = 4;
  auto pixels = counting(16);
  cl_int code = 0;
  const kit::Buffer image = fixture.cl.own(
      fixture.cl.clCreateImage(fixture.context, CL_MEM_COPY_HOST_PTR, &format, &desc, pixels.data(), &code));
  ASSERT_EQ(code, CL_SUCCESS);
  const std::size_t origin[] = {1, 1, 0};
  const std::size_t region[] = {2, 2, 1};
  std::vector<cl_int> host(4);
  EXPECT_EQ(fixture.cl.clEnqueueReadImage(fixture.queue, image, CL_TRUE, origin, region, 0, 0, host.data(), 0,
                                          nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host, (std::vector<cl_int>{5, 6, 9, 10}));
  const cl_int4 colour{{-1, 0, 0, 0}};
  EXPECT_EQ(fixture.cl.clEnqueueFillImage(fixture.queue, image, &colour, origin, region, 0, nullptr, nullptr),
            CL_SUCCESS);
  const cl_mem buffer = fixture.make_buffer(std::vector<cl_int>(4));
  const std::size_t corner[] = {0, 0, 0};
  EXPECT_EQ(fixture.cl.clEnqueueCopyImageToBuffer(fixture.queue, image, buffer, corner, region, 0, 0, nullptr,
                                                  nullptr),
            CL_SUCCESS);
  EXPECT_EQ(fixture.read(buffer, 4), (std::vector<cl_int>{0, 1, 4, -1}));
  std::size_t pitch = 0;
  auto* mapped =
      static_cast<cl_int*>(fixture.cl.clEnqueueMapImage(fixture.queue, image, CL_TRUE, CL_MAP_WRITE, corner,
                                                        region, &pitch, nullptr, 0, nullptr, nullptr, &code));
  ASSERT_EQ(code, CL_SUCCESS);
  mapped[pitch / sizeof(cl_int)] = 77;
  EXPECT_EQ(fixture.cl.unmap(fixture.queue, image, mapped), CL_SUCCESS);
  const std::size_t one[] = {1, 1, 1};
  const std::size_t below[] = {0, 1, 0};
  EXPECT_EQ(fixture.cl.clEnqueueReadImage(fixture.queue, image, CL_TRUE, below, one, 0, 0, host.data(), 0,
                                          nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host[0], 77);
}

TEST(Svm, IsSharedByKernelsAndHost) {
  DriverFixture fixture;
  auto* shared = static_cast<cl_int*>(fixture.cl.clSVMAlloc(fixture.context, CL_MEM_READ_WRITE, 16, 0));
  ASSERT_NE(shared, nullptr);
  const cl_int three = 3;
  EXPECT_EQ(
      fixture.cl.clEnqueueSVMMemFill(fixture.queue, shared, &three, sizeof three, 16, 0, nullptr, nullptr),
      CL_SUCCESS);
  const cl_kernel add = fixture.make_add(nullptr, 2);
  EXPECT_EQ(fixture.cl.clSetKernelArgSVMPointer(add, 0, shared + 1), CL_SUCCESS);
  fixture.launch(fixture.queue, add, 3);
  EXPECT_EQ(fixture.cl.clEnqueueSVMMap(fixture.queue, CL_TRUE, CL_MAP_READ, shared, 16, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ((std::vector<cl_int>(shared, shared + 4)), (std::vector<cl_int>{3, 5, 5, 5}));
  EXPECT_EQ(fixture.cl.clEnqueueSVMUnmap(fixture.queue, shared, 0, nullptr, nullptr), CL_SUCCESS);
  fixture.cl.clFinish(fixture.queue);
  fixture.cl.clSVMFree(fixture.context, shared);
}

TEST(Svm, EnqueuedFreeRunsInQueueOrder) {
  DriverFixture fixture;
  void* shared = fixture.cl.clSVMAlloc(fixture.context, CL_MEM_READ_WRITE, 16, 64);
  struct Freed {
    DriverFixture& fixture;
    cl_uint count = 0;
  } freed{fixture};
  const auto free = [](cl_command_queue, cl_uint count, void* pointers[], void* data) {
    auto& result = *static_cast<Freed*>(data);
    result.count += count;
    result.fixture.cl.clSVMFree(result.fixture.context, pointers[0]);
  };
  EXPECT_EQ(fixture.cl.clEnqueueSVMFree(fixture.queue, 1, &shared, free, &freed, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(freed.count, 0u);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(freed.count, 1u);
}

}  // namespace
}  // namespace cleave::sim
