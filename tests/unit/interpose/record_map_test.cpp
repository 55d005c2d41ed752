#include "interpose/state/record_map.h"

#include <atomic>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/kit/threads.h"

namespace cleave::interpose {
namespace {

struct Record {
  int value = 0;
};

const void* handle(std::size_t i) { return reinterpret_cast<const void*>(0x1000 + i * 16); }

TEST(RecordMap, RecordLivesUntilTheLastReferenceOfTheProgram) {
  RecordMap<Record> registry;
  registry.add(handle(1), {7});
  registry.retain(handle(1));
  EXPECT_FALSE(registry.release(handle(1)));
  EXPECT_EQ(registry.find(handle(1))->value, 7);
  const auto last = registry.release(handle(1));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->value, 7);
  EXPECT_FALSE(registry.find(handle(1)));
  EXPECT_TRUE(registry.empty());
}

TEST(RecordMap, HolderInheritsTheDriverReference) {
  RecordMap<Record> registry;
  EXPECT_FALSE(registry.pin(handle(1))) << "not known";
  registry.add(handle(1), {7});
  EXPECT_FALSE(registry.is_pinned(handle(1)));
  EXPECT_TRUE(registry.pin(handle(1)));
  EXPECT_TRUE(registry.pin(handle(1)));
  EXPECT_FALSE(registry.unpin(handle(1))) << "the program still has it";
  EXPECT_TRUE(registry.release(handle(1)));
  EXPECT_FALSE(registry.find(handle(1)));
  EXPECT_TRUE(registry.empty());
  EXPECT_FALSE(registry.pin(handle(1))) << "no record any more";
  EXPECT_TRUE(registry.is_pinned(handle(1)));
  EXPECT_TRUE(registry.defer_release(handle(1)));
  EXPECT_TRUE(registry.unpin(handle(1)));
  EXPECT_FALSE(registry.is_pinned(handle(1)));
}

TEST(RecordMap, CountsRecordsThatComeOrGo) {
  base::ForkLocks forks;
  std::atomic<std::uint64_t> changes{0};
  RecordMap<Record> registry(forks, base::ForkOrder::kernels, &changes);
  registry.add(handle(1), {7});
  EXPECT_EQ(changes, 1U);
  registry.retain(handle(1));
  EXPECT_FALSE(registry.release(handle(1)));
  EXPECT_EQ(changes, 1U) << "it stays";
  registry.add(handle(1), {8});
  EXPECT_EQ(changes, 2U) << "another in its place";
  EXPECT_TRUE(registry.release(handle(1)));
  EXPECT_EQ(changes, 3U);
  registry.forget(handle(1));
  EXPECT_EQ(changes, 3U) << "there was none";
  registry.add(handle(1), {7});
  registry.forget(handle(1));
  EXPECT_EQ(changes, 5U);
}

TEST(RecordMap, ReleasedHandleHasNoRecord) {
  RecordMap<Record> registry;
  registry.add(handle(1), {7});
  EXPECT_TRUE(registry.pin(handle(1)));
  EXPECT_TRUE(registry.release(handle(1)));
  EXPECT_FALSE(registry.unpin(handle(1)));
  EXPECT_FALSE(registry.defer_release(handle(1)));
}

TEST(RecordMap, RemovesOnlyTheMatchingRecord) {
  RecordMap<Record> registry;
  registry.add(handle(1), {1});
  registry.forget_if(handle(1), [](const Record& record) { return record.value == 2; });
  EXPECT_EQ(registry.find(handle(1))->value, 1);
  registry.forget_if(handle(1), [](const Record& record) { return record.value == 1; });
  EXPECT_TRUE(registry.empty());
}

TEST(RecordMap, ReusedAddressGetsTheNewRecord) {
  RecordMap<Record> registry;
  registry.add(handle(1), {1});
  registry.retain(handle(1));
  registry.add(handle(1), {2});
  EXPECT_EQ(registry.find(handle(1))->value, 2);
  EXPECT_TRUE(registry.release(handle(1))) << "counted afresh";
}

// Shards remember what was found last.
TEST(RecordMap, FoundRecordIsForgottenAndReplaced) {
  RecordMap<Record> registry;
  registry.add(handle(1), {1});
  EXPECT_EQ(registry.find(handle(1))->value, 1);
  registry.add(handle(1), {2});
  EXPECT_EQ(registry.find(handle(1))->value, 2) << "the program has an object of that address again";
  EXPECT_TRUE(registry.release(handle(1)));
  EXPECT_FALSE(registry.find(handle(1)));
  registry.add(handle(1), {3});
  EXPECT_EQ(registry.find(handle(1))->value, 3);
  registry.forget(handle(1));
  EXPECT_FALSE(registry.find(handle(1)));
}

TEST(RecordMap, FindsRecordsInTurn) {
  RecordMap<Record> registry;
  for (int i = 0; i < 1000; ++i) {
    registry.add(handle(static_cast<std::size_t>(i)), {i});
    EXPECT_EQ(registry.find(handle(0))->value, 0) << "also where the table has grown";
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(registry.find(handle(static_cast<std::size_t>(i)))->value, i);
  }
}

TEST(RecordMap, UnknownHandlesAreIgnored) {
  RecordMap<Record> registry;
  registry.retain(handle(1));
  EXPECT_FALSE(registry.release(handle(1)));
  registry.add(handle(2), {});
  registry.update(handle(1), [](Record&) { FAIL(); });
  EXPECT_FALSE(registry.find(nullptr));
}

TEST(RecordMap, IsThreadSafe) {
  RecordMap<Record> registry;
  kit::on_threads(4, [&](std::size_t thread) {
    for (int i = 0; i < 5000; ++i) {
      const void* mine = handle(thread * 5000 + static_cast<std::size_t>(i));
      registry.add(mine, {i});
      registry.retain(mine);
      registry.update(mine, [](Record& record) { ++record.value; });
      EXPECT_EQ(registry.find(mine)->value, i + 1);
      registry.release(mine);
      if (i % 2 == 0) registry.release(mine);
    }
  });
  std::size_t left = 0;
  for (std::size_t i = 0; i < 20000; ++i) left += registry.find(handle(i)).has_value() ? 1 : 0;
  EXPECT_EQ(left, 10000U);
}

TEST(RecordMap, IsUnlockedInAForkedChild) {
  RecordMap<Record> registry;
  registry.add(handle(1), {1});
  std::atomic<bool> stop{false};
  std::jthread busy([&] {
    while (!stop) registry.update(handle(1), [](Record& record) { ++record.value; });
  });
  registry.lock();
  const pid_t child = fork();
  registry.unlock();
  if (child == 0) {
    alarm(10);
    registry.update(handle(1), [](Record& record) { record.value = 0; });
    _exit(registry.find(handle(1)) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  stop = true;
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cleave::interpose
