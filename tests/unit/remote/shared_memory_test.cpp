// The client's half of shared memory: places, slots and boxes.
#include "remote/server/memory/shared_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "remote/client/link/box.h"
#include "remote/client/link/shared_area.h"
#include "remote/protocol/limits.h"
#include "remote/transport/ring_slots.h"
#include "tests/kit/threads.h"
#include "tests/unit/remote/noise.h"

namespace cleave::remote::client {
namespace {

TEST(SharedArea, BlocksDoNotOverlapAndAreReused) {
  const auto area = SharedArea::make(4 * kMiB);
  ASSERT_NE(area, nullptr);
  auto first = area->allocate(kMiB + 1);
  auto second = area->allocate(2 * kMiB);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first.offset(), 0U);
  EXPECT_GE(second.offset(), kMiB + 1);
  EXPECT_FALSE(area->allocate(kMiB)) << "there is not that much left";
  EXPECT_TRUE(area->allocate(kMiB - 4096));
  first = {};
  EXPECT_TRUE(area->allocate(kMiB));
  EXPECT_FALSE(area->allocate(0));
  EXPECT_FALSE(area->allocate(SIZE_MAX));
  EXPECT_FALSE(area->allocate(4 * kMiB + 1));
}

TEST(SharedArea, ConcurrentBlocksNeverOverlap) {
  const auto area = SharedArea::make(4 * kMiB);
  std::atomic<unsigned> taken{0};
  kit::on_threads(4, [&](std::size_t thread) {
    const auto mark = static_cast<std::byte>(thread + 1);
    std::minstd_rand random(static_cast<unsigned>(thread + 1));
    for (int i = 0; i < 300; ++i) {
      const std::size_t size = 1 + random() % kMiB;
      const auto place = area->allocate(size);
      if (!place) continue;
      taken.fetch_add(1);
      std::memset(place.data(), static_cast<int>(mark), size);
      EXPECT_EQ(*place.data(), mark);
      EXPECT_EQ(std::memcmp(place.data(), place.data() + 1, size - 1), 0);
    }
  });
  EXPECT_GT(taken.load(), 100U);
}

TEST(SharedArea, OnlyUsedPagesAreBackedAndMostAreReturned) {
  const auto area = SharedArea::make();
  EXPECT_EQ(area->backed(), 0U);
  { const auto place = area->allocate(1000); }
  EXPECT_LE(area->backed(), kMiB);
  {
    const auto place = area->allocate(2 * SharedArea::kKeptOnTrim);
    EXPECT_GE(area->backed(), 2 * SharedArea::kKeptOnTrim);
    area->trim(std::chrono::milliseconds(0));
    EXPECT_GE(area->backed(), 2 * SharedArea::kKeptOnTrim) << "it is in use";
  }
  area->trim(std::chrono::hours(1));
  EXPECT_GE(area->backed(), 2 * SharedArea::kKeptOnTrim) << "it has just been in use";
  area->trim(std::chrono::milliseconds(0));
  EXPECT_EQ(area->backed(), SharedArea::kKeptOnTrim);
  const auto place = area->allocate(2 * SharedArea::kKeptOnTrim);
  ASSERT_TRUE(place);
  place.data()[2 * SharedArea::kKeptOnTrim - 1] = std::byte{1};
}

TEST(SharedArea, BlockWritableByTheServerIsKept) {
  const auto area = SharedArea::make(kMiB);
  auto place = area->allocate(kMiB);
  auto* const word = reinterpret_cast<std::uint32_t*>(place.data());
  give_slot(*word);
  place.keep_until_idle([](std::byte* data) { return is_returned(*reinterpret_cast<std::uint32_t*>(data)); });
  place = {};
  EXPECT_FALSE(area->allocate(4096));
  return_slot(*word);
  EXPECT_TRUE(area->allocate(4096));
}

std::size_t blocks_of(const SharedArea& area) {
  struct stat status {};
  ::fstat(area.descriptor(), &status);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

TEST(SharedArea, GoesWithItsConnectionButForPlacesInUse) {
  const auto area = SharedArea::make(4 * kMiB);
  auto first = area->allocate(kMiB);
  auto used = area->allocate(kMiB);
  auto late = area->allocate(kMiB);
  auto written = area->allocate(kMiB);
  ASSERT_TRUE(first && used && late && written);
  for (auto* const place : {&late, &written}) place->keep_until_idle([](std::byte*) { return false; });
  written = {};
  first = {};
  EXPECT_EQ(blocks_of(*area), 4 * kMiB);
  area->end();
  EXPECT_EQ(blocks_of(*area), 2 * kMiB) << "nobody waits for what the server may still write";
  EXPECT_FALSE(area->allocate(4096));
  late = {};
  EXPECT_EQ(blocks_of(*area), kMiB);
  used = {};
  EXPECT_EQ(blocks_of(*area), 0U);
  EXPECT_EQ(area->backed(), 0U);
}

TEST(SharedArea, RespectsTheFileSizeLimit) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{kMiB, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(SharedArea::make(), nullptr);
  ::setrlimit(RLIMIT_FSIZE, &before);
}

TEST(SharedMemory, ServerMapsOnlySealedMemory) {
  const auto area = SharedArea::make(kMiB);
  const auto place = area->allocate(kMiB);
  const auto mapped = server::SharedMemory::map(::dup(area->descriptor()));
  ASSERT_NE(mapped, nullptr);
  place.data()[77] = std::byte{42};
  EXPECT_EQ(*mapped->at(77, 1), std::byte{42});
  EXPECT_NE(mapped->at(0, kMiB), nullptr);
  EXPECT_EQ(mapped->at(1, kMiB), nullptr);
  EXPECT_EQ(mapped->at(kMiB, 1), nullptr);
  EXPECT_EQ(mapped->at(UINT64_MAX, 2), nullptr);
  EXPECT_EQ(mapped->at(2, UINT64_MAX), nullptr);
}

TEST(Slots, WakeWaiters) {
  std::uint32_t word = 0;
  EXPECT_TRUE(wait_for_slot(word, std::chrono::steady_clock::now()));
  give_slot(word);
  EXPECT_FALSE(is_returned(word));
  EXPECT_FALSE(wait_for_slot(word, std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return_slot(word);
  });
  EXPECT_TRUE(wait_for_slot(word, std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  other.join();
}

TEST(Box, CopiesInWireOrderFromAnyOffset) {
  std::vector<std::byte> memory = noise(4096, 7);
  const Box box{memory.data() + 5, 7, 3, 4, 11, 41};
  std::vector<std::byte> wire(box.bytes());
  for (std::size_t at = 0; at < wire.size(); ++at) wire[at] = *box.place(at);
  for (const std::size_t step : {1U, 4U, 7U, 20U, 84U}) {
    std::vector<std::byte> copied(box.bytes());
    for (std::size_t at = 0; at < copied.size(); at += step)
      box.copy_to(copied.data() + at, at, std::min(step, copied.size() - at));
    EXPECT_EQ(copied, wire) << step;
    std::vector<std::byte> other(memory.size());
    const Box into{other.data() + 5, 7, 3, 4, 11, 41};
    for (std::size_t at = 0; at < copied.size(); at += step)
      into.copy_from(copied.data() + at, at, std::min(step, copied.size() - at));
    for (std::size_t at = 0; at < wire.size(); ++at) ASSERT_EQ(*into.place(at), wire[at]) << step;
  }
}

}  // namespace
}  // namespace cleave::remote::client
