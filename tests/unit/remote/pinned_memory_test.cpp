// What of a client's shared memory is pinned, and of the server's own for small reads, on which driver, and for how long: on a
// driver that a test plays.
#include "remote/server/memory/pinned_memory.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "remote/client/link/shared_area.h"
#include "remote/protocol/limits.h"
#include "remote/server/memory/pinned_reads.h"

namespace cleave::remote::server {
namespace {

struct Driver {
  std::string_view platform = "NVIDIA CUDA";
  cl_device_type type = CL_DEVICE_TYPE_GPU;
  cl_int error = CL_SUCCESS;  // of the creation of buffers
  std::vector<std::size_t> pinned;
  unsigned released = 0;
} driver;

// A queue's address is that of its context, which is even, or the one behind it.
cl_context context_of(cl_command_queue queue) {
  return reinterpret_cast<cl_context>(reinterpret_cast<std::uintptr_t>(queue) & ~std::uintptr_t{1});
}
cl_command_queue queue_of(std::uintptr_t context, bool second = false) {
  return reinterpret_cast<cl_command_queue>(context + (second ? 1 : 0));  // NOLINT(performance-no-int-to-ptr)
}

cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info what, size_t, void* value,
                                  size_t*) {
  if (what == CL_QUEUE_CONTEXT) *static_cast<cl_context*>(value) = context_of(queue);
  return CL_SUCCESS;
}
cl_int CL_API_CALL get_device_info(cl_device_id, cl_device_info what, size_t, void* value, size_t*) {
  if (what == CL_DEVICE_TYPE) *static_cast<cl_device_type*>(value) = driver.type;
  return CL_SUCCESS;
}
cl_int CL_API_CALL get_platform_info(cl_platform_id, cl_platform_info, size_t size, void* value, size_t*) {
  EXPECT_GT(size, driver.platform.size());
  driver.platform.copy(static_cast<char*>(value), size);
  return CL_SUCCESS;
}
cl_mem CL_API_CALL create_buffer(cl_context, cl_mem_flags flags, size_t size, void* data, cl_int* error) {
  EXPECT_NE(flags & CL_MEM_USE_HOST_PTR, 0U);
  EXPECT_NE(data, nullptr);
  *error = driver.error;
  if (driver.error != CL_SUCCESS) return nullptr;
  driver.pinned.push_back(size);
  return static_cast<cl_mem>(data);
}
cl_int CL_API_CALL release(cl_mem) { return ++driver.released, CL_SUCCESS; }

class PinnedMemoryTest : public testing::Test {
 protected:
  // For ranges, where one context has pinned the beginning.
  static constexpr std::uint64_t kForRanges = PinnedMemory::kMaxPinned - kKeptSharedMemory;

  PinnedMemoryTest() {
    driver = {};
    table_.clGetCommandQueueInfo = get_queue_info;
    table_.clGetDeviceInfo = get_device_info;
    table_.clGetPlatformInfo = get_platform_info;
    table_.clCreateBuffer = create_buffer;
    table_.clReleaseMemObject = release;
  }

  Table table_{};
  const std::unique_ptr<client::SharedArea> area_ = client::SharedArea::make();
  const std::unique_ptr<SharedMemory> shared_ = SharedMemory::map(dup(area_->descriptor()));
  const std::unique_ptr<client::SharedArea> large_area_ =
      client::SharedArea::make(client::SharedArea::kSize, 2 * PinnedMemory::kMaxPinned);
  const std::unique_ptr<SharedMemory> large_ = SharedMemory::map(dup(large_area_->descriptor()));
  PinnedMemory pinned_{table_, shared_.get()};
};

TEST_F(PinnedMemoryTest, WhatTheClientKeepsIsPinnedOnceForAContext) {
  ASSERT_NE(shared_, nullptr);
  auto first = pinned_.pin_for(queue_of(64));
  auto second = pinned_.pin_for(queue_of(64, true));
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, second);
  EXPECT_EQ(driver.pinned, std::vector<std::size_t>{kKeptSharedMemory});
  const auto other = pinned_.pin_for(queue_of(128));
  EXPECT_EQ(driver.pinned.size(), 2U);
  first.reset();
  EXPECT_EQ(driver.released, 0U) << "the second queue has it";
  second.reset();
  EXPECT_EQ(driver.released, 1U);
  // The context's address may have been used again.
  EXPECT_NE(pinned_.pin_for(queue_of(64)), nullptr);
  EXPECT_EQ(driver.pinned.size(), 3U);
}

// A kept range is pinned when it is first used, until it is forgotten, and in any case for as long as a command uses it.
TEST_F(PinnedMemoryTest, KeptRangesArePinnedWhenTheyAreUsed) {
  constexpr std::uint64_t kAt = kKeptSharedMemory + 8192;
  constexpr std::uint64_t kSize = std::uint64_t{3} << 20U;
  ASSERT_TRUE(pinned_.keep(kAt, kSize));
  EXPECT_EQ(pinned_.pin_place(queue_of(64), kAt, kSize), nullptr) << "for what the queue keeps";
  auto queue = pinned_.pin_for(queue_of(64));
  driver.pinned.clear();
  EXPECT_EQ(pinned_.pin_place(queue_of(64), kAt - 1, 2), nullptr);
  EXPECT_EQ(pinned_.pin_place(queue_of(64), kAt, kSize + 1), nullptr);
  EXPECT_EQ(pinned_.pin_place(queue_of(64), kAt + kSize, 1), nullptr);
  EXPECT_EQ(pinned_.pin_place(queue_of(64), 0, 1), nullptr) << "it is pinned anyway";
  EXPECT_TRUE(driver.pinned.empty());
  auto used = pinned_.pin_place(queue_of(64), kAt + 4096, kSize - 4096);
  EXPECT_NE(used, nullptr);
  EXPECT_EQ(pinned_.pin_place(queue_of(64, true), kAt, 1), used);
  EXPECT_EQ(driver.pinned, std::vector<std::size_t>{kSize}) << "the whole range, once";
  EXPECT_TRUE(pinned_.forget(kAt, kSize));
  EXPECT_EQ(driver.released, 0U) << "a command uses it";
  used.reset();
  EXPECT_EQ(driver.released, 1U);
  EXPECT_EQ(pinned_.pin_place(queue_of(64), kAt, kSize), nullptr);

  ASSERT_TRUE(pinned_.keep(kAt, kSize));
  EXPECT_NE(pinned_.pin_place(queue_of(64), kAt, kSize), nullptr);
  EXPECT_EQ(driver.released, 1U);
  queue.reset();
  EXPECT_EQ(driver.released, 3U) << "nothing keeps the context when its queues have ended";
  EXPECT_TRUE(pinned_.forget(kAt, kSize));
}

TEST_F(PinnedMemoryTest, OnlyWholePagesBehindTheBeginningAreKept) {
  constexpr std::uint64_t kAt = kKeptSharedMemory;
  constexpr std::uint64_t kMore = std::uint64_t{1} << 20U;
  EXPECT_FALSE(pinned_.keep(kAt - 4096, kMore));
  EXPECT_FALSE(pinned_.keep(kAt + 1, kMore));
  EXPECT_FALSE(pinned_.keep(kAt, kMore + 1));
  EXPECT_FALSE(pinned_.keep(kAt, 0));
  EXPECT_FALSE(pinned_.keep(shared_->size(), kMore));
  EXPECT_FALSE(pinned_.keep(kAt, UINT64_MAX - 4095));
  ASSERT_TRUE(pinned_.keep(kAt + kMore, kMore));
  EXPECT_FALSE(pinned_.keep(kAt + kMore, kMore));
  EXPECT_FALSE(pinned_.keep(kAt, kMore + 4096));
  EXPECT_FALSE(pinned_.keep(kAt + 2 * kMore - 4096, kMore));
  EXPECT_TRUE(pinned_.keep(kAt, kMore));
  EXPECT_TRUE(pinned_.keep(kAt + 2 * kMore, kMore));
  EXPECT_FALSE(pinned_.forget(kAt + kMore, kMore - 4096));
  EXPECT_FALSE(pinned_.forget(kAt + kMore + 4096, kMore));
  EXPECT_TRUE(pinned_.forget(kAt + kMore, kMore));
  EXPECT_FALSE(pinned_.forget(kAt + kMore, kMore));
  EXPECT_FALSE(PinnedMemory(table_, nullptr).keep(kAt, kMore));
  std::uint64_t at = kAt + 3 * kMore;
  std::size_t kept = 2;
  for (; pinned_.keep(at, 4096); at += 4096) ++kept;
  EXPECT_EQ(kept, kMaxKeptRanges);
}

TEST_F(PinnedMemoryTest, RefusedRangeIsNotTriedAgain) {
  constexpr std::uint64_t kSize = std::uint64_t{2} << 20U;
  const auto queue = pinned_.pin_for(queue_of(64));
  ASSERT_TRUE(pinned_.keep(kKeptSharedMemory, kSize));
  driver.error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  EXPECT_EQ(pinned_.pin_place(queue_of(64), kKeptSharedMemory, kSize), nullptr);
  driver.error = CL_SUCCESS;
  EXPECT_EQ(pinned_.pin_place(queue_of(64), kKeptSharedMemory, kSize), nullptr);
  EXPECT_TRUE(pinned_.forget(kKeptSharedMemory, kSize));
  ASSERT_TRUE(pinned_.keep(kKeptSharedMemory, kSize));
  EXPECT_NE(pinned_.pin_place(queue_of(64), kKeptSharedMemory, kSize), nullptr);
}

TEST_F(PinnedMemoryTest, NoMoreThanTheLimitIsPinned) {
  PinnedMemory pinned(table_, large_.get());
  const auto queue = pinned.pin_for(queue_of(64));
  constexpr std::uint64_t kFirst = kForRanges - 4096;
  const std::uint64_t second = kKeptSharedMemory + kFirst;
  ASSERT_TRUE(pinned.keep(kKeptSharedMemory, kFirst));
  ASSERT_TRUE(pinned.keep(second, 8192));
  EXPECT_NE(pinned.pin_place(queue_of(64), kKeptSharedMemory, kFirst), nullptr);
  EXPECT_EQ(pinned.pin_place(queue_of(64), second, 8192), nullptr);
  EXPECT_TRUE(pinned.forget(kKeptSharedMemory, kFirst));
  EXPECT_NE(pinned.pin_place(queue_of(64), second, 8192), nullptr);
}

TEST_F(PinnedMemoryTest, WhatIsForgottenCountsWhileCommandsUseIt) {
  PinnedMemory pinned(table_, large_.get());
  const auto queue = pinned.pin_for(queue_of(64));
  ASSERT_TRUE(pinned.keep(kKeptSharedMemory, kForRanges));
  auto used = pinned.pin_place(queue_of(64), kKeptSharedMemory, 4096);
  ASSERT_NE(used, nullptr);
  ASSERT_TRUE(pinned.forget(kKeptSharedMemory, kForRanges));
  const std::uint64_t second = kKeptSharedMemory + kForRanges;
  ASSERT_TRUE(pinned.keep(second, 4096));
  EXPECT_EQ(pinned.pin_place(queue_of(64), second, 4096), nullptr);
  used.reset();
  EXPECT_NE(pinned.pin_place(queue_of(64), second, 4096), nullptr);
}

TEST_F(PinnedMemoryTest, TheLimitIsForAllContextsTogether) {
  PinnedMemory pinned(table_, large_.get());
  const auto first = pinned.pin_for(queue_of(64));
  auto second = pinned.pin_for(queue_of(128));
  const std::uint64_t behind = kKeptSharedMemory + kForRanges / 2;
  ASSERT_TRUE(pinned.keep(kKeptSharedMemory, kForRanges / 2));
  ASSERT_TRUE(pinned.keep(behind, kForRanges / 2));
  EXPECT_NE(pinned.pin_place(queue_of(64), kKeptSharedMemory, 1), nullptr);
  EXPECT_EQ(pinned.pin_place(queue_of(128), behind, 1), nullptr);
  second.reset();
  EXPECT_NE(pinned.pin_place(queue_of(64), behind, 1), nullptr);
  EXPECT_EQ(pinned.pin_for(queue_of(128)), nullptr) << "nothing is left for its beginning";
  ASSERT_TRUE(pinned.forget(behind, kForRanges / 2));
  EXPECT_NE(pinned.pin_for(queue_of(128)), nullptr);
}

// The memory of a map, which is another buffer's now.
TEST_F(PinnedMemoryTest, RangeMayGoFromContextToContext) {
  PinnedMemory pinned(table_, large_.get());
  const auto first = pinned.pin_for(queue_of(64));
  const auto second = pinned.pin_for(queue_of(128));
  ASSERT_TRUE(pinned.keep(kKeptSharedMemory, kForRanges / 4));
  ASSERT_TRUE(pinned.keep(kKeptSharedMemory + kForRanges / 4, kForRanges / 2));
  for (const std::uint64_t at : {kKeptSharedMemory, kKeptSharedMemory + kForRanges / 4})
    EXPECT_NE(pinned.pin_place(queue_of(64), at, 1), nullptr);
  EXPECT_NE(pinned.pin_place(queue_of(128), kKeptSharedMemory + kForRanges / 4, 1), nullptr);
  EXPECT_EQ(driver.released, 1U) << "the first context's";
  EXPECT_NE(pinned.pin_place(queue_of(128), kKeptSharedMemory, 1), nullptr);
  EXPECT_EQ(driver.released, 2U);
}

TEST_F(PinnedMemoryTest, NothingIsPinnedOnOtherDriversAndProcessors) {
  driver.platform = "Portable Computing Language";
  EXPECT_EQ(pinned_.pin_for(queue_of(64)), nullptr);
  driver = {};
  driver.type = CL_DEVICE_TYPE_CPU;
  EXPECT_EQ(pinned_.pin_for(queue_of(64)), nullptr);
  driver = {};
  EXPECT_EQ(PinnedMemory(table_, nullptr).pin_for(queue_of(64)), nullptr);
  EXPECT_TRUE(driver.pinned.empty());
}

// For small reads.
class PinnedReadsTest : public PinnedMemoryTest {
 protected:
  // The block for the read after those that are not worth it.
  Block take_after_first(cl_command_queue queue, PinnedReads::OfQueue& of) {
    for (unsigned i = 1; i < PinnedReads::kReadsBefore; ++i) EXPECT_FALSE(reads_.take(queue, of, 1));
    return reads_.take(queue, of, 1);
  }

  PinnedReads reads_{table_};
};

TEST_F(PinnedReadsTest, QueuesOfAContextShareBlocks) {
  PinnedReads::OfQueue first;
  PinnedReads::OfQueue second;
  PinnedReads::OfQueue other;
  const Block one = take_after_first(queue_of(64), first);
  ASSERT_TRUE(one);
  EXPECT_FALSE(reads_.take(queue_of(64), first, PinnedBlocks::kBlock + 1));
  std::vector<Block> all;
  for (Block more = take_after_first(queue_of(64, true), second); more;
       more = reads_.take(queue_of(64, true), second, PinnedBlocks::kBlock))
    all.push_back(std::move(more));
  EXPECT_EQ(all.size(), PinnedBlocks::kBlocks - 1);
  EXPECT_EQ(driver.pinned, std::vector<std::size_t>{PinnedBlocks::kBlocks * PinnedBlocks::kBlock});
  std::byte* const last = all.back().data();
  all.pop_back();
  const Block again = reads_.take(queue_of(64), first, 7);
  EXPECT_EQ(again.data(), last);
  EXPECT_EQ(again.bytes().size(), 7U);
  EXPECT_TRUE(take_after_first(queue_of(128), other));
  EXPECT_EQ(driver.pinned.size(), 2U) << "another context";
}

TEST_F(PinnedReadsTest, BlocksArePinnedWhileAQueueOrAReadHasThem) {
  auto of = std::make_unique<PinnedReads::OfQueue>();
  Block block = take_after_first(queue_of(64), *of);
  ASSERT_TRUE(block);
  of.reset();
  EXPECT_EQ(driver.released, 0U);
  block = {};
  EXPECT_EQ(driver.released, 1U);
  PinnedReads::OfQueue later;
  EXPECT_TRUE(take_after_first(queue_of(64), later));
  EXPECT_EQ(driver.pinned.size(), 2U);
}

TEST_F(PinnedReadsTest, FewContextsHaveBlocks) {
  std::vector<PinnedReads::OfQueue> all(PinnedReads::kMostContexts + 1);
  std::uintptr_t context = 0;
  for (PinnedReads::OfQueue& of : all) {
    context += 64;
    EXPECT_EQ(static_cast<bool>(take_after_first(queue_of(context), of)), &of != &all.back());
  }
  all.erase(all.begin());
  PinnedReads::OfQueue later;
  EXPECT_TRUE(take_after_first(queue_of(context, true), later)) << "the first is gone";
}

TEST_F(PinnedReadsTest, DriversThatDoNotPinAreAskedOnce) {
  driver.error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  PinnedReads::OfQueue refused;
  EXPECT_FALSE(take_after_first(queue_of(64), refused));
  driver = {};
  EXPECT_FALSE(reads_.take(queue_of(64), refused, 1));
  driver.type = CL_DEVICE_TYPE_CPU;
  PinnedReads::OfQueue processors;
  EXPECT_FALSE(take_after_first(queue_of(64), processors));
  EXPECT_TRUE(driver.pinned.empty());
}

TEST_F(PinnedMemoryTest, DriverThatRefusesIsNoProblem) {
  driver.error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  EXPECT_EQ(pinned_.pin_for(queue_of(64)), nullptr);
  EXPECT_EQ(driver.released, 0U);
}

}  // namespace
}  // namespace cleave::remote::server
