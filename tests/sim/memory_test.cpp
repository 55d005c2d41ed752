// Buffers, images, mapping and shared virtual memory.
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/rig.h"

namespace cleave::sim {
namespace {

using namespace std::chrono_literals;

std::vector<cl_int> counting(std::size_t count) {
  std::vector<cl_int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Memory, FlagsAndPointersAreChecked) {
  Rig rig;
  cl_int code = 0;
  int host = 0;
  const auto create = [&](cl_mem_flags flags, std::size_t size, void* pointer) {
    const cl_mem buffer = rig.cl.clCreateBuffer(rig.context, flags, size, pointer, &code);
    if (buffer != nullptr) rig.cl.clReleaseMemObject(buffer);
    return code;
  };
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 4, nullptr), CL_SUCCESS);
  EXPECT_EQ(create(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 4, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(create(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 4, &host), CL_INVALID_VALUE);
  EXPECT_EQ(create(CL_MEM_COPY_HOST_PTR, 4, nullptr), CL_INVALID_HOST_PTR);
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 4, &host), CL_INVALID_HOST_PTR);
  EXPECT_EQ(create(CL_MEM_READ_WRITE, 0, nullptr), CL_INVALID_BUFFER_SIZE);
}

TEST(Memory, WriteCopyFillAndReadMoveTheBytes) {
  Rig rig;
  const cl_mem first = rig.make_buffer(std::vector<cl_int>(8));
  const cl_mem second = rig.make_buffer(std::vector<cl_int>(8));
  const auto values = counting(8);
  EXPECT_EQ(
      rig.cl.clEnqueueWriteBuffer(rig.queue, first, CL_FALSE, 0, 32, values.data(), 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(rig.cl.clEnqueueCopyBuffer(rig.queue, first, second, 8, 0, 16, 0, nullptr, nullptr), CL_SUCCESS);
  const cl_int nine = 9;
  EXPECT_EQ(rig.cl.clEnqueueFillBuffer(rig.queue, second, &nine, sizeof nine, 16, 8, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(rig.read(second, 8), (std::vector<cl_int>{2, 3, 4, 5, 9, 9, 0, 0}));
  EXPECT_EQ(rig.cl.clEnqueueCopyBuffer(rig.queue, first, first, 0, 4, 8, 0, nullptr, nullptr),
            CL_MEM_COPY_OVERLAP);
  EXPECT_EQ(rig.cl.clEnqueueCopyBuffer(rig.queue, first, second, 0, 24, 16, 0, nullptr, nullptr),
            CL_INVALID_VALUE);
}

TEST(Memory, RectanglesAreCutOutAndPutBack) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer(counting(16));  // 4 x 4
  const std::size_t origin[] = {4, 1, 0};
  const std::size_t host_origin[] = {0, 0, 0};
  const std::size_t region[] = {8, 2, 1};
  std::vector<cl_int> host(4);
  EXPECT_EQ(rig.cl.clEnqueueReadBufferRect(rig.queue, buffer, CL_TRUE, origin, host_origin, region, 16, 0, 0,
                                           0, host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host, (std::vector<cl_int>{5, 6, 9, 10}));
  host = {-1, -2, -3, -4};
  EXPECT_EQ(rig.cl.clEnqueueWriteBufferRect(rig.queue, buffer, CL_TRUE, host_origin, host_origin, region, 16,
                                            0, 0, 0, host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  const std::size_t corner[] = {8, 2, 0};
  EXPECT_EQ(rig.cl.clEnqueueCopyBufferRect(rig.queue, buffer, buffer, host_origin, corner, region, 16, 0, 16,
                                           0, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(rig.read(buffer, 16),
            (std::vector<cl_int>{-1, -2, 2, 3, -3, -4, 6, 7, 8, 9, -1, -2, 12, 13, -3, -4}));
  const std::size_t beyond[] = {12, 3, 0};
  EXPECT_EQ(rig.cl.clEnqueueReadBufferRect(rig.queue, buffer, CL_TRUE, beyond, host_origin, region, 16, 0, 0,
                                           0, host.data(), 0, nullptr, nullptr),
            CL_INVALID_VALUE);
}

TEST(Memory, AMappedRegionHoldsTheDataOfItsOwnMoment) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer({1, 2});
  const cl_kernel add = rig.make_add(buffer, 10);
  rig.launch(rig.queue, add, 2);
  cl_int code = 0;
  auto* mapped = static_cast<cl_int*>(rig.cl.clEnqueueMapBuffer(
      rig.queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 8, 0, nullptr, nullptr, &code));
  ASSERT_EQ(code, CL_SUCCESS);
  EXPECT_EQ(mapped[0], 11);
  mapped[1] = 100;
  EXPECT_EQ(rig.cl.clEnqueueUnmapMemObject(rig.queue, buffer, mapped, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(rig.cl.clEnqueueUnmapMemObject(rig.queue, buffer, mapped, 0, nullptr, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(rig.read(buffer, 2), (std::vector<cl_int>{11, 100}));
}

TEST(Memory, AMapThatOvertakesSeesOldData) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer({1});
  const cl_event gate = rig.user_event();
  rig.launch(rig.queue, rig.make_add(buffer, 10), 1, {gate});
  const cl_command_queue other = rig.make_queue();
  const auto* mapped = static_cast<cl_int*>(
      rig.cl.clEnqueueMapBuffer(other, buffer, CL_TRUE, CL_MAP_READ, 0, 4, 0, nullptr, nullptr, nullptr));
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(*mapped, 1);
  rig.cl.clEnqueueUnmapMemObject(other, buffer, const_cast<cl_int*>(mapped), 0, nullptr, nullptr);
}

TEST(Memory, WhatTheProgramLentIsMappedInPlace) {
  Rig rig;
  std::array<cl_int, 4> host{1, 2, 3, 4};
  const cl_mem buffer =
      rig.cl.clCreateBuffer(rig.context, CL_MEM_USE_HOST_PTR, sizeof host, host.data(), nullptr);
  void* mapped =
      rig.cl.clEnqueueMapBuffer(rig.queue, buffer, CL_TRUE, CL_MAP_READ, 8, 8, 0, nullptr, nullptr, nullptr);
  EXPECT_EQ(mapped, &host[2]);
  cl_uint maps = 0;
  rig.cl.clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof maps, &maps, nullptr);
  EXPECT_EQ(maps, 1u);
  rig.cl.clEnqueueUnmapMemObject(rig.queue, buffer, mapped, 0, nullptr, nullptr);
  rig.cl.clReleaseMemObject(buffer);
}

TEST(Memory, SubBuffersShareTheirParentsBytes) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer(counting(64));
  cl_buffer_region region{128, 8};
  cl_int code = 0;
  const cl_mem sub = rig.cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  ASSERT_EQ(code, CL_SUCCESS);
  rig.launch(rig.queue, rig.make_add(sub, 1000), 2);
  EXPECT_EQ(rig.read(buffer, 35)[33], 1033);
  region.origin = 4;
  EXPECT_EQ(rig.cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code), nullptr);
  EXPECT_EQ(code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
  EXPECT_EQ(rig.cl.clCreateSubBuffer(sub, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_MEM_OBJECT);
  rig.cl.clReleaseMemObject(sub);
}

TEST(Memory, HostAccessIsWhatTheFlagsSay) {
  Rig rig;
  const cl_mem buffer = rig.cl.clCreateBuffer(rig.context, CL_MEM_HOST_NO_ACCESS, 4, nullptr, nullptr);
  cl_int value = 0;
  EXPECT_EQ(rig.cl.clEnqueueReadBuffer(rig.queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr),
            CL_INVALID_OPERATION);
  EXPECT_EQ(rig.cl.clEnqueueWriteBuffer(rig.queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr),
            CL_INVALID_OPERATION);
  rig.cl.clReleaseMemObject(buffer);
}

TEST(Memory, ACommandKeepsWhatItUses) {
  Rig rig;
  const cl_mem buffer = rig.cl.clCreateBuffer(rig.context, 0, 4, nullptr, nullptr);
  rig.launch(rig.queue, rig.make_add(buffer, 1));
  EXPECT_EQ(rig.cl.clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(rig.driver.live(Kind::memory), 1u);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(rig.driver.live(Kind::memory), 0u);
}

TEST(Image, PixelsGoInAndOut) {
  Rig rig;
  const cl_image_format format{CL_R, CL_SIGNED_INT32};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = 4;
  desc.image_height = 4;
  auto pixels = counting(16);
  cl_int code = 0;
  const cl_mem image =
      rig.cl.clCreateImage(rig.context, CL_MEM_COPY_HOST_PTR, &format, &desc, pixels.data(), &code);
  ASSERT_EQ(code, CL_SUCCESS);
  const std::size_t origin[] = {1, 1, 0};
  const std::size_t region[] = {2, 2, 1};
  std::vector<cl_int> host(4);
  EXPECT_EQ(rig.cl.clEnqueueReadImage(rig.queue, image, CL_TRUE, origin, region, 0, 0, host.data(), 0,
                                      nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host, (std::vector<cl_int>{5, 6, 9, 10}));
  const cl_int4 colour{{-1, 0, 0, 0}};
  EXPECT_EQ(rig.cl.clEnqueueFillImage(rig.queue, image, &colour, origin, region, 0, nullptr, nullptr),
            CL_SUCCESS);
  const cl_mem buffer = rig.make_buffer(std::vector<cl_int>(4));
  const std::size_t corner[] = {0, 0, 0};
  EXPECT_EQ(
      rig.cl.clEnqueueCopyImageToBuffer(rig.queue, image, buffer, corner, region, 0, 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(rig.read(buffer, 4), (std::vector<cl_int>{0, 1, 4, -1}));
  std::size_t pitch = 0;
  auto* mapped = static_cast<cl_int*>(rig.cl.clEnqueueMapImage(
      rig.queue, image, CL_TRUE, CL_MAP_WRITE, corner, region, &pitch, nullptr, 0, nullptr, nullptr, &code));
  ASSERT_EQ(code, CL_SUCCESS);
  mapped[pitch / sizeof(cl_int)] = 77;
  EXPECT_EQ(rig.cl.clEnqueueUnmapMemObject(rig.queue, image, mapped, 0, nullptr, nullptr), CL_SUCCESS);
  const std::size_t one[] = {1, 1, 1};
  const std::size_t below[] = {0, 1, 0};
  EXPECT_EQ(rig.cl.clEnqueueReadImage(rig.queue, image, CL_TRUE, below, one, 0, 0, host.data(), 0, nullptr,
                                      nullptr),
            CL_SUCCESS);
  EXPECT_EQ(host[0], 77);
  EXPECT_EQ(rig.cl.clReleaseMemObject(image), CL_SUCCESS);
}

TEST(Svm, KernelsAndHostShareIt) {
  Rig rig;
  auto* shared = static_cast<cl_int*>(rig.cl.clSVMAlloc(rig.context, CL_MEM_READ_WRITE, 16, 0));
  ASSERT_NE(shared, nullptr);
  const cl_int three = 3;
  EXPECT_EQ(rig.cl.clEnqueueSVMMemFill(rig.queue, shared, &three, sizeof three, 16, 0, nullptr, nullptr),
            CL_SUCCESS);
  const cl_kernel add = rig.make_add(nullptr, 2);
  EXPECT_EQ(rig.cl.clSetKernelArgSVMPointer(add, 0, shared + 1), CL_SUCCESS);
  rig.launch(rig.queue, add, 3);
  EXPECT_EQ(rig.cl.clEnqueueSVMMap(rig.queue, CL_TRUE, CL_MAP_READ, shared, 16, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ((std::vector<cl_int>(shared, shared + 4)), (std::vector<cl_int>{3, 5, 5, 5}));
  EXPECT_EQ(rig.cl.clEnqueueSVMUnmap(rig.queue, shared, 0, nullptr, nullptr), CL_SUCCESS);
  rig.cl.clFinish(rig.queue);
  rig.cl.clSVMFree(rig.context, shared);
}

TEST(Svm, EnqueuedFreeingHappensInItsTurn) {
  Rig rig;
  void* shared = rig.cl.clSVMAlloc(rig.context, CL_MEM_READ_WRITE, 16, 64);
  struct Freed {
    Rig& rig;
    cl_uint count = 0;
  } freed{rig};
  const auto free = [](cl_command_queue, cl_uint count, void* pointers[], void* data) {
    auto& result = *static_cast<Freed*>(data);
    result.count += count;
    result.rig.cl.clSVMFree(result.rig.context, pointers[0]);
  };
  EXPECT_EQ(rig.cl.clEnqueueSVMFree(rig.queue, 1, &shared, free, &freed, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(freed.count, 0u);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(freed.count, 1u);
}

}  // namespace
}  // namespace cleave::sim
