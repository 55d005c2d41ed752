// Memory for maps that a server has mapped as well: which regions there are, and which notices the server gets about them.
#include "remote/client/link/map_regions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <pthread.h>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "remote/client/link/shared_area.h"
#include "remote/server/memory/shared_memory.h"
#include "tests/kit/threads.h"
#include "tests/unit/remote/noise.h"

namespace cleave::remote::client {

static bool operator==(const MapRegions::Notice& a, const MapRegions::Notice& b) {
  return std::tie(a.offset, a.size, a.is_kept) == std::tie(b.offset, b.size, b.is_kept);
}

namespace {

using std::chrono::milliseconds;

class MapRegionsTest : public testing::Test {
 protected:
  static constexpr std::size_t kBefore = kMiB;
  static constexpr std::size_t kRegions = 8 * kMiB;

  std::shared_ptr<MapRegion> take(std::size_t size) {
    notices_.clear();
    return regions_->take(size, notices_);
  }
  [[nodiscard]] std::size_t backed() const {
    struct stat status {};
    ::fstat(area_->descriptor(), &status);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }

  const std::unique_ptr<SharedArea> area_ = SharedArea::make(kBefore, kRegions);
  const std::shared_ptr<MapRegions> regions_ = MapRegions::map(area_->file(), kBefore, kRegions);
  std::vector<MapRegions::Notice> notices_;
};
using Notices = std::vector<MapRegions::Notice>;

TEST_F(MapRegionsTest, AreMemoryThatTheServerSees) {
  const auto mapped = server::SharedMemory::map(::dup(area_->descriptor()));
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(mapped->size(), kBefore + kRegions);
  const auto region = take(2 * kMiB + 1);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(region->offset(), kBefore);
  EXPECT_EQ(region->size(), 2 * kMiB + 4096);
  ASSERT_TRUE(regions_->back(*region));
  region->data()[region->size() - 1] = std::byte{77};
  EXPECT_EQ(*mapped->at(region->offset() + region->size() - 1, 1), std::byte{77});
  EXPECT_EQ(region->offset_of(region->data() + 5), kBefore + 5);
}

TEST_F(MapRegionsTest, AreKeptForTheNextMapOfTheirSize) {
  auto first = take(2 * kMiB);
  EXPECT_EQ(notices_, (Notices{{kBefore, 2 * kMiB, true}}));
  std::byte* const data = first->data();
  const auto second = take(2 * kMiB);
  EXPECT_EQ(notices_, (Notices{{kBefore + 2 * kMiB, 2 * kMiB, true}}));
  first.reset();
  const auto other = take(kMiB);
  EXPECT_EQ(notices_.size(), 1U);
  EXPECT_NE(other->data(), data)
      << "it would have to be told, pinned and allocated anew for the next large map";
  const auto again = take(2 * kMiB);
  EXPECT_TRUE(notices_.empty());
  EXPECT_EQ(again->data(), data);
}

TEST_F(MapRegionsTest, UnusedOnesMakeRoomTheOldestFirst) {
  auto first = take(4 * kMiB);
  auto second = take(4 * kMiB);
  EXPECT_EQ(take(2 * kMiB), nullptr) << "both are used";
  EXPECT_TRUE(notices_.empty());
  EXPECT_EQ(take(kRegions + 1), nullptr);
  EXPECT_EQ(take(SIZE_MAX), nullptr);
  ASSERT_TRUE(regions_->back(*first) && regions_->back(*second));
  second.reset();
  first.reset();
  const auto third = take(2 * kMiB);
  EXPECT_EQ(notices_, (Notices{{kBefore + 4 * kMiB, 4 * kMiB, false}, {kBefore + 4 * kMiB, 2 * kMiB, true}}));
  EXPECT_EQ(backed(), 4 * kMiB) << "of the other one";
  EXPECT_EQ(take(8 * kMiB), nullptr);
  EXPECT_EQ(notices_, (Notices{{kBefore, 4 * kMiB, false}}))
      << "what is done is told, also if it was in vain";
}

TEST_F(MapRegionsTest, AreGivenBackWhenTheyHaveNotBeenUsed) {
  auto used = take(2 * kMiB);
  auto unused = take(3 * kMiB);
  ASSERT_TRUE(regions_->back(*used) && regions_->back(*unused));
  unused.reset();
  EXPECT_TRUE(regions_->expire(std::chrono::hours(1)).empty());
  EXPECT_EQ(regions_->expire(milliseconds(0)), (Notices{{kBefore + 2 * kMiB, 3 * kMiB, false}}));
  EXPECT_EQ(backed(), 5 * kMiB);
  EXPECT_TRUE(regions_->expire(milliseconds(0)).empty()) << "told once";
  const auto early = take(3 * kMiB);
  EXPECT_EQ(early->offset(), kBefore + 5 * kMiB) << "its place is taken until it has been given back";
  regions_->give_back();
  EXPECT_EQ(backed(), 2 * kMiB);
  EXPECT_EQ(take(3 * kMiB)->offset(), kBefore + 2 * kMiB);
}

TEST_F(MapRegionsTest, AForkedChildWritesToItsOwn) {
  const auto region = take(kMiB);
  ASSERT_TRUE(regions_->back(*region));
  region->data()[5] = std::byte{1};
  const pid_t child = fork();
  if (child == 0) {
    regions_->close_in_child();
    const bool same = region->data()[5] == std::byte{1};
    region->data()[5] = std::byte{2};
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it sees what was there";
  EXPECT_EQ(region->data()[5], std::byte{1});
}

// Neither of its parent's memory nor, behind a descriptor that has been closed, of a file that it has opened since.
TEST_F(MapRegionsTest, AForkedChildGivesNothingBack) {
  auto region = take(2 * kMiB);
  ASSERT_TRUE(regions_->back(*region));
  regions_->end();
  const pid_t child = fork();
  if (child == 0) {
    regions_->close_in_child();
    region.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(backed(), 2 * kMiB);
}

TEST_F(MapRegionsTest, OutliveTheirConnection) {
  auto regions = MapRegions::map(area_->file(), kBefore, kRegions);
  std::vector<MapRegions::Notice> notices;
  const auto region = regions->take(2 * kMiB, notices);
  ASSERT_TRUE(regions->back(*region));
  regions.reset();
  std::fill_n(region->data(), region->size(), std::byte{1});
}

TEST_F(MapRegionsTest, GoWithTheirConnectionButForThoseInUse) {
  auto used = take(2 * kMiB);
  auto expired = take(kMiB);
  auto unused = take(3 * kMiB);
  ASSERT_TRUE(regions_->back(*used) && regions_->back(*expired) && regions_->back(*unused));
  expired.reset();
  EXPECT_EQ(regions_->expire(milliseconds(0)).size(), 1U);
  unused.reset();
  EXPECT_EQ(backed(), 6 * kMiB);
  regions_->end();
  EXPECT_EQ(backed(), 2 * kMiB);
  EXPECT_EQ(take(kMiB), nullptr);
  EXPECT_TRUE(notices_.empty());
  used.reset();
  EXPECT_EQ(backed(), 0U);
}

// Allocating and giving back are cancellation points of the system's, but none of a program's.
TEST_F(MapRegionsTest, AreWholeThoughTheThreadIsCancelled) {
  bool is_over = false;
  const std::function<void()> use = [&] {
    pthread_cancel(pthread_self());
    auto place = area_->allocate(kBefore);
    auto region = take(2 * kMiB);
    EXPECT_TRUE(regions_->back(*region));
    regions_->end();
    area_->end();
    is_over = true;
  };
  const auto run = [](void* function) -> void* {
    (*static_cast<const std::function<void()>*>(function))();
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, nullptr, run, const_cast<std::function<void()>*>(&use)), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_TRUE(is_over);
  EXPECT_EQ(backed(), 0U);
}

TEST_F(MapRegionsTest, OfSeveralThreadsNeverOverlap) {
  base::Mutex mutex;
  kit::on_threads(4, [&](std::size_t thread) {
    for (std::size_t i = 0; i < 300; ++i) {
      std::vector<MapRegions::Notice> notices;
      std::shared_ptr<MapRegion> region;
      {
        const base::MutexLock lock(mutex);  // Connection::out_mutex_
        region = regions_->take((1 + (i * 7 + thread) % 3) * kMiB, notices);
        if (i % 50 == 0) regions_->expire(milliseconds(0));
        if (i % 50 == 1) regions_->give_back();
      }
      if (region == nullptr || !regions_->back(*region)) continue;
      const auto mark = static_cast<std::byte>(thread + 1);
      for (std::size_t at = 0; at < region->size(); at += 4096) region->data()[at] = mark;
      for (std::size_t at = 0; at < region->size(); at += 4096) ASSERT_EQ(region->data()[at], mark);
    }
  });
}

}  // namespace
}  // namespace cleave::remote::client
