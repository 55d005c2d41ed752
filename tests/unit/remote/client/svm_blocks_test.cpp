// Shared virtual memory at addresses that the server has chosen.
#include "remote/client/objects/svm_blocks.h"

#include <cstring>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace cleave::remote::client {
namespace {

// Never looked into.
const Connection& connection(std::uintptr_t number) {
  return *reinterpret_cast<const Connection*>(number * 64);
}

class SvmBlocksTest : public testing::Test {
 protected:
  SvmBlocksTest() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const free = mmap(nullptr, kPages * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(free, kPages * page_);
    beginning_ = reinterpret_cast<std::uintptr_t>(free);
  }
  ~SvmBlocksTest() override {
    for (std::size_t i = 0; i < kPages; ++i) EXPECT_FALSE(is_mapped(i)) << i;
  }

  [[nodiscard]] std::uintptr_t at(std::size_t page, std::size_t offset = 0) const {
    return beginning_ + page * page_ + offset;
  }
  [[nodiscard]] static void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
  [[nodiscard]] bool is_mapped(std::size_t page) const {
    unsigned char in_core = 0;
    return mincore(pointer(at(page)), page_, &in_core) == 0;
  }
  [[nodiscard]] SvmBlock block(std::uintptr_t address, std::size_t size, std::uintptr_t server = 1) const {
    return {address, size, &connection(server), 7};
  }
  void free(std::uintptr_t address) {
    const auto taken = blocks_.remove(pointer(address), connection(1));
    ASSERT_TRUE(taken);
    blocks_.release_pages(*taken);
  }

  static constexpr std::size_t kPages = 16;
  const std::size_t page_;
  std::uintptr_t beginning_ = 0;
  SvmBlocks blocks_;
};

TEST_F(SvmBlocksTest, IsMappedAtItsAddressAndUnmapped) {
  ASSERT_TRUE(blocks_.add(block(at(2, 64), 2 * page_)));
  std::memset(pointer(at(2, 64)), 1, 2 * page_);
  EXPECT_TRUE(is_mapped(4));
  EXPECT_FALSE(is_mapped(1));
  EXPECT_FALSE(is_mapped(5));
  free(at(2, 64));
}

TEST_F(SvmBlocksTest, BlocksMayShareAPage) {
  ASSERT_TRUE(blocks_.add(block(at(3, 0), 64)));
  ASSERT_TRUE(blocks_.add(block(at(3, 128), page_)));
  ASSERT_TRUE(blocks_.add(block(at(3, 64), 64)));
  free(at(3, 0));
  free(at(3, 64));
  std::memset(pointer(at(3, 128)), 1, page_);
  free(at(3, 128));
  EXPECT_FALSE(is_mapped(3));
}

TEST_F(SvmBlocksTest, NeverMapsOverExistingMemory) {
  auto* const there = static_cast<char*>(mmap(pointer(at(5)), page_, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
  ASSERT_EQ(there, pointer(at(5)));
  *there = 42;
  ASSERT_TRUE(blocks_.add(block(at(3), 64)));
  EXPECT_FALSE(blocks_.add(block(at(2, 100), 4 * page_)));
  EXPECT_FALSE(blocks_.add(block(at(5), 64)));
  EXPECT_FALSE(is_mapped(2)) << "what came before it is taken back";
  EXPECT_TRUE(is_mapped(3));
  EXPECT_FALSE(is_mapped(4));
  EXPECT_EQ(*there, 42);
  munmap(there, page_);
  EXPECT_TRUE(blocks_.add(block(at(4, 100), 4 * page_)));
  free(at(3));
  free(at(4, 100));
}

TEST_F(SvmBlocksTest, InvalidAddressesAreRefused) {
  EXPECT_FALSE(blocks_.add(block(0, 64)));
  EXPECT_FALSE(blocks_.add(block(page_, 64)));
  EXPECT_FALSE(blocks_.add(block(at(1), 0)));
  EXPECT_FALSE(blocks_.add(block(at(1), SIZE_MAX)));
  EXPECT_FALSE(blocks_.add(block(UINTPTR_MAX - 10, 100)));
  EXPECT_FALSE(blocks_.add(block(UINTPTR_MAX - 10, 5)));
  EXPECT_FALSE(blocks_.add(block(std::uintptr_t{1} << 63U, 64)));
}

TEST_F(SvmBlocksTest, BlocksOfTwoServersNeverOverlap) {
  ASSERT_TRUE(blocks_.add(block(at(1, 100), 100)));
  EXPECT_FALSE(blocks_.add(block(at(1, 100), 100, 2)));
  EXPECT_FALSE(blocks_.add(block(at(1, 199), 1, 2)));
  EXPECT_FALSE(blocks_.add(block(at(1, 50), 51, 2)));
  EXPECT_FALSE(blocks_.add(block(at(1), page_, 2)));
  EXPECT_TRUE(blocks_.add(block(at(1, 200), 10, 2)));
  EXPECT_FALSE(blocks_.remove(pointer(at(1, 200)), connection(1))) << "another server's";
  free(at(1, 100));
  blocks_.release_pages(*blocks_.remove(pointer(at(1, 200)), connection(2)));
}

TEST_F(SvmBlocksTest, BlockMayBeReallocatedBeforeTheOldIsReleased) {
  ASSERT_TRUE(blocks_.add(block(at(1), page_)));
  const auto old = blocks_.remove(pointer(at(1)), connection(1));
  ASSERT_TRUE(old);
  ASSERT_TRUE(blocks_.add(block(at(1), 2 * page_)));
  blocks_.release_pages(*old);
  std::memset(pointer(at(1)), 1, 2 * page_);
  free(at(1));
}

TEST_F(SvmBlocksTest, InteriorPointersFindTheirBlock) {
  ASSERT_TRUE(blocks_.add(block(at(1, 64), 100)));
  ASSERT_TRUE(blocks_.add(block(at(1, 164), 100)));
  const auto holds = [&](std::size_t offset, std::size_t size) {
    return blocks_.holds(pointer(at(1, offset)), size, connection(1));
  };
  EXPECT_TRUE(holds(64, 100));
  EXPECT_TRUE(holds(163, 1));
  EXPECT_TRUE(holds(264, 0));
  EXPECT_FALSE(holds(63, 1));
  EXPECT_FALSE(holds(64, 101)) << "two blocks are not one";
  EXPECT_FALSE(holds(264, 1));
  EXPECT_FALSE(holds(265, 0));
  EXPECT_FALSE(holds(100, SIZE_MAX));
  EXPECT_FALSE(blocks_.holds(pointer(at(1, 64)), 1, connection(2)));
  EXPECT_EQ(blocks_.find(pointer(at(1, 170)), 1)->address, at(1, 164));
  free(at(1, 64));
  free(at(1, 164));
}

TEST_F(SvmBlocksTest, MapsAreTrackedUntilUnmapped) {
  ASSERT_TRUE(blocks_.add(block(at(1), 100)));
  blocks_.map(pointer(at(1, 10)), {20, CL_MAP_WRITE});
  EXPECT_FALSE(blocks_.unmap(pointer(at(1))));
  const auto mapped = blocks_.unmap(pointer(at(1, 10)));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->size, 20U);
  EXPECT_FALSE(blocks_.unmap(pointer(at(1, 10))));
  blocks_.map(pointer(at(1, 10)), {20, CL_MAP_WRITE});
  free(at(1));
  EXPECT_FALSE(blocks_.unmap(pointer(at(1, 10)))) << "they end with their block";
}

}  // namespace
}  // namespace cleave::remote::client
