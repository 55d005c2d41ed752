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

using Memory = DriverTest<>;
using Image = DriverTest<>;
using Svm = DriverTest<>;

TEST_F(Memory, ValidatesFlagsAndHostPointers) {
  cl_int code = 0;
  int host = 0;
  const auto create = [&](cl_mem_flags flags, std::size_t size, void* pointer) {
    const cl_mem buffer = cl.clCreateBuffer(context, flags, size, pointer, &code);
    if (buffer != nullptr) cl.clReleaseMemObject(buffer);
    return code;
  };
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 4, nullptr), CL_SUCCESS);
  EXPECT_EQ(create(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 4, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(create(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 4, &host), CL_INVALID_VALUE);
  EXPECT_EQ(create(CL_MEM_COPY_HOST_PTR, 4, nullptr), CL_INVALID_HOST_PTR);
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 4, &host), CL_INVALID_HOST_PTR);
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 0, nullptr), CL_INVALID_BUFFER_SIZE);
}

TEST_F(Memory, WriteCopyFillAndReadTransferBytes) {
  const cl_mem first = make_buffer(std::vector<cl_int>(8));
  const cl_mem second = make_buffer(std::vector<cl_int>(8));
  const auto values = counting(8);
  EXPECT_EQ(cl.clEnqueueWriteBuffer(queue, first, CL_FALSE, 0, 32, values.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(cl.copy(queue, first, second, 16, 8, 0), CL_SUCCESS);
  const cl_int nine = 9;
  EXPECT_EQ(cl.fill(queue, second, nine, 2, 16), CL_SUCCESS);
  EXPECT_EQ(read(second, 8), (std::vector<cl_int>{2, 3, 4, 5, 9, 9, 0, 0}));
  EXPECT_EQ(cl.copy(queue, first, first, 8, 0, 4), CL_MEM_COPY_OVERLAP);
  EXPECT_EQ(cl.copy(queue, first, second, 16, 0, 24), CL_INVALID_VALUE);
}

TEST_F(Memory, RectTransfers) {
  const cl_mem buffer = make_buffer(counting(16));  // 4 x 4
  const std::size_t origin[] = {4, 1, 0};
  const std::size_t host_origin[] = {0, 0, 0};
  const std::size_t region[] = {8, 2, 1};
  std::vector<cl_int> host(4);
  EXPECT_EQ(cl.clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, host_origin, region, 16, 0, 0, 0,
                                       host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host, (std::vector<cl_int>{5, 6, 9, 10}));
  host = {-1, -2, -3, -4};
  EXPECT_EQ(cl.clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, host_origin, host_origin, region, 16, 0, 0, 0,
                                        host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  const std::size_t corner[] = {8, 2, 0};
  EXPECT_EQ(cl.clEnqueueCopyBufferRect(queue, buffer, buffer, host_origin, corner, region, 16, 0, 16, 0, 0,
                                       nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read(buffer, 16),
            (std::vector<cl_int>{-1, -2, 2, 3, -3, -4, 6, 7, 8, 9, -1, -2, 12, 13, -3, -4}));
  const std::size_t beyond[] = {12, 3, 0};
  EXPECT_EQ(cl.clEnqueueReadBufferRect(queue, buffer, CL_TRUE, beyond, host_origin, region, 16, 0, 0, 0,
                                       host.data(), 0, nullptr, nullptr),
            CL_INVALID_VALUE);
}

TEST_F(Memory, MappedRegionIsASnapshot) {
  const cl_mem buffer = make_buffer({1, 2});
  const cl_kernel add = make_add(buffer, 10);
  launch(queue, add, 2);
  auto* mapped = cl.map<cl_int>(queue, buffer, CL_MAP_READ | CL_MAP_WRITE, 2);
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(mapped[0], 11);
  mapped[1] = 100;
  EXPECT_EQ(cl.unmap(queue, buffer, mapped), CL_SUCCESS);
  EXPECT_EQ(cl.unmap(queue, buffer, mapped), CL_INVALID_VALUE);
  EXPECT_EQ(read(buffer, 2), (std::vector<cl_int>{11, 100}));
}

TEST_F(Memory, UnorderedMapSeesOldData) {
  const cl_mem buffer = make_buffer({1});
  const cl_event gate = user_event();
  launch(queue, make_add(buffer, 10), 1, {gate});
  const cl_command_queue other = make_queue();
  const auto* mapped = cl.map<cl_int>(other, buffer, CL_MAP_READ, 1);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  cl.clFinish(queue);
  EXPECT_EQ(*mapped, 1);
  cl.unmap(other, buffer, mapped);
}

TEST_F(Memory, HostPointerMemoryIsMappedInPlace) {
  std::array<cl_int, 4> host{1, 2, 3, 4};
  const kit::Buffer buffer = cl.buffer(context, sizeof host, CL_MEM_USE_HOST_PTR, host.data());
  const auto* mapped = cl.map<cl_int>(queue, buffer, CL_MAP_READ, 2, 8);
  EXPECT_EQ(mapped, &host[2]);
  EXPECT_EQ(cl.info<cl_uint>(buffer, CL_MEM_MAP_COUNT), 1u);
  cl.unmap(queue, buffer, mapped);
}

TEST_F(Memory, SubBuffersAliasTheirParent) {
  const cl_mem buffer = make_buffer(counting(64));
  cl_buffer_region region{128, 8};
  const kit::Buffer sub = cl.sub_buffer(buffer, region.origin, region.size);
  ASSERT_TRUE(sub);
  cl_int code = 0;
  launch(queue, make_add(sub, 1000), 2);
  EXPECT_EQ(read(buffer, 35)[33], 1033);
  region.origin = 4;
  EXPECT_EQ(cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code), nullptr);
  EXPECT_EQ(code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
  EXPECT_EQ(cl.clCreateSubBuffer(sub, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_MEM_OBJECT);
}

TEST_F(Memory, HostAccessFlagsAreEnforced) {
  const kit::Buffer buffer = cl.buffer(context, 4, CL_MEM_HOST_NO_ACCESS);
  cl_int value = 0;
  EXPECT_EQ(cl.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr),
            CL_INVALID_OPERATION);
  EXPECT_EQ(cl.clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr),
            CL_INVALID_OPERATION);
}

TEST_F(Memory, CommandRetainsItsObjects) {
  const cl_mem buffer = cl.clCreateBuffer(context, 0, 4, nullptr, nullptr);
  launch(queue, make_add(buffer, 1));
  EXPECT_EQ(cl.clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(driver.live(Kind::memory), 1u);
  cl.clFinish(queue);
  EXPECT_EQ(driver.live(Kind::memory), 0u);
}

TEST_F(Image, ReadsAndWritesPixels) {
  const cl_image_format format{CL_R, CL_SIGNED_INT32};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = 4;
  desc.image_height = 4;
  auto pixels = counting(16);
  const kit::Image image = cl.image(context, format, desc, CL_MEM_COPY_HOST_PTR, pixels.data());
  ASSERT_TRUE(image);
  const std::size_t origin[] = {1, 1, 0};
  const std::size_t region[] = {2, 2, 1};
  std::vector<cl_int> host(4);
  EXPECT_EQ(
      cl.clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, host.data(), 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(host, (std::vector<cl_int>{5, 6, 9, 10}));
  const cl_int4 colour{{-1, 0, 0, 0}};
  EXPECT_EQ(cl.clEnqueueFillImage(queue, image, &colour, origin, region, 0, nullptr, nullptr), CL_SUCCESS);
  const cl_mem buffer = make_buffer(std::vector<cl_int>(4));
  const std::size_t corner[] = {0, 0, 0};
  EXPECT_EQ(cl.clEnqueueCopyImageToBuffer(queue, image, buffer, corner, region, 0, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read(buffer, 4), (std::vector<cl_int>{0, 1, 4, -1}));
  std::size_t pitch = 0;
  cl_int code = 0;
  auto* mapped = static_cast<cl_int*>(cl.clEnqueueMapImage(
      queue, image, CL_TRUE, CL_MAP_WRITE, corner, region, &pitch, nullptr, 0, nullptr, nullptr, &code));
  ASSERT_EQ(code, CL_SUCCESS);
  mapped[pitch / sizeof(cl_int)] = 77;
  EXPECT_EQ(cl.unmap(queue, image, mapped), CL_SUCCESS);
  const std::size_t one[] = {1, 1, 1};
  const std::size_t below[] = {0, 1, 0};
  EXPECT_EQ(cl.clEnqueueReadImage(queue, image, CL_TRUE, below, one, 0, 0, host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host[0], 77);
}

TEST_F(Svm, IsSharedByKernelsAndHost) {
  auto* shared = static_cast<cl_int*>(cl.clSVMAlloc(context, CL_MEM_READ_WRITE, 16, 0));
  ASSERT_NE(shared, nullptr);
  const cl_int three = 3;
  EXPECT_EQ(cl.clEnqueueSVMMemFill(queue, shared, &three, sizeof three, 16, 0, nullptr, nullptr), CL_SUCCESS);
  const cl_kernel add = make_add(nullptr, 2);
  EXPECT_EQ(cl.clSetKernelArgSVMPointer(add, 0, shared + 1), CL_SUCCESS);
  launch(queue, add, 3);
  EXPECT_EQ(cl.clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, shared, 16, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ((std::vector<cl_int>(shared, shared + 4)), (std::vector<cl_int>{3, 5, 5, 5}));
  EXPECT_EQ(cl.clEnqueueSVMUnmap(queue, shared, 0, nullptr, nullptr), CL_SUCCESS);
  cl.clFinish(queue);
  cl.clSVMFree(context, shared);
}

TEST_F(Svm, EnqueuedFreeRunsInQueueOrder) {
  void* shared = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, 16, 64);
  struct Freed {
    DriverFixture& fixture;
    cl_uint count = 0;
  } freed{*this};
  const auto free = [](cl_command_queue, cl_uint count, void* pointers[], void* data) {
    auto& result = *static_cast<Freed*>(data);
    result.count += count;
    result.fixture.cl.clSVMFree(result.fixture.context, pointers[0]);
  };
  EXPECT_EQ(cl.clEnqueueSVMFree(queue, 1, &shared, free, &freed, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(freed.count, 0u);
  cl.clFinish(queue);
  EXPECT_EQ(freed.count, 1u);
}

}  // namespace
}  // namespace cleave::sim
