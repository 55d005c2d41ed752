#include "objects/objects.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kit/threads.h"

namespace {

// What LeakSanitizer has been told to search for pointers.
struct RootRegion {
  const void* begin;
  std::size_t size;
  bool operator==(const RootRegion&) const = default;
};
std::vector<RootRegion> root_regions;

}  // namespace

// In a build with a sanitizer, its own take the place of these.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" {
void __lsan_register_root_region(const void* begin, std::size_t size);
void __lsan_unregister_root_region(const void* begin, std::size_t size);
[[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t size) {
  root_regions.push_back({begin, size});
}
[[gnu::weak]] void __lsan_unregister_root_region(const void* begin, std::size_t size) {
  std::erase(root_regions, RootRegion{begin, size});
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

namespace cleave::objects {
namespace {

const Table kTable{};

// Else a program with LeakSanitizer would end with an error, for what is reachable from objects alone.
TEST(Arena, IsSearchedForPointersByLeakSanitizer) {
  __lsan_register_root_region(&kTable, sizeof kTable);
  const bool is_told = !root_regions.empty();
  __lsan_unregister_root_region(&kTable, sizeof kTable);
  if (!is_told) GTEST_SKIP() << "the sanitizer's own are in place";
  {
    Arena arena;
    ASSERT_TRUE(arena.begin(kTable));
    const auto* const object = reinterpret_cast<const std::byte*>(arena.allocate());
    ASSERT_EQ(root_regions.size(), 1U);
    const auto* const begin = static_cast<const std::byte*>(root_regions.front().begin);
    EXPECT_TRUE(begin <= object && object + kObjectSize <= begin + root_regions.front().size);
  }
  EXPECT_TRUE(root_regions.empty());
}

struct ObjectsTest : testing::Test {
  void SetUp() override {
    ASSERT_TRUE(objects->begin(kTable));
    platform = objects->make_root(Kind::platform, raw(), 3, &data);
    ASSERT_NE(platform, nullptr);
  }

  // Another address each time, as drivers give them.
  void* raw() { return &raws[used++]; }

  Object& make(Kind kind, Object& parent) { return objects->publish(*objects->prepare(kind, parent), raw()); }

  void release(Object& object) {
    if (objects->release(object) == Objects::Remaining::none) objects->reap(object);
  }

  // For the length of the test only: what is in them stays reachable for sanitizers.
  std::unique_ptr<Objects> objects = std::make_unique<Objects>();
  std::vector<char> raws = std::vector<char>(100'000);
  std::size_t used = 0;
  Object* platform = nullptr;
  int data = 0;
};

TEST_F(ObjectsTest, StartWithTheDispatchPointer) {
  Object& context = make(Kind::context, *platform);
  EXPECT_EQ(reinterpret_cast<const Table* const*>(&context)[0], &kTable);
  EXPECT_EQ(reinterpret_cast<void* const*>(&context)[1], &data);
  EXPECT_EQ(context.driver, 3);
}

TEST_F(ObjectsTest, HaveTheDispatchTableOfTheirPlatform) {
  static const Table kOther{};
  Object* const other = objects->make_root(Kind::platform, raw(), 4, &data, &kOther);
  ASSERT_NE(other, nullptr);
  Object* const device = objects->wrap(Kind::device, raw(), *other);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->dispatch, &kOther);
  // Longer than dead objects are kept, so that each platform gets objects that were the other's.
  for (std::size_t i = 0; i < 3 * Arena::kQuarantine; ++i) {
    Object& parent = i % 3 == 0 ? *other : *platform;
    Object& context = make(Kind::context, parent);
    ASSERT_EQ(context.dispatch, parent.dispatch) << i;
    release(context);
  }
}

TEST_F(ObjectsTest, FindsOwnObjectsOfTheKindOnly) {
  Object& context = make(Kind::context, *platform);
  EXPECT_EQ(objects->find(handle_of<cl_context>(&context)), &context);
  EXPECT_EQ(objects->find(&context, Kind::queue), nullptr);
  EXPECT_EQ(objects->find(nullptr, Kind::context), nullptr);
  EXPECT_EQ(objects->find(&data, Kind::context), nullptr);
  EXPECT_EQ(objects->find(reinterpret_cast<char*>(&context) + 8, Kind::context), nullptr);
  EXPECT_EQ(objects->find(&context + 100, Kind::context), nullptr) << "never used";
  EXPECT_EQ(objects->find(reinterpret_cast<void*>(~std::uintptr_t{63}), Kind::context), nullptr);
}

TEST_F(ObjectsTest, EndWithTheLastReference) {
  Object& context = make(Kind::context, *platform);
  EXPECT_TRUE(objects->retain(context));
  EXPECT_EQ(objects->release(context), Objects::Remaining::some);
  EXPECT_EQ(objects->release(context), Objects::Remaining::none);
  EXPECT_EQ(objects->find(&context, Kind::context), nullptr);
  objects->reap(context);
  EXPECT_EQ(context.dispatch, &kTable) << "a loader reads it before it calls us";
}

TEST_F(ObjectsTest, OnlyRootsSurviveFork) {
  Object& context = make(Kind::context, *platform);
  Object& ended = make(Kind::context, *platform);
  release(ended);
  objects->lock();
  objects->disown_all();
  objects->unlock();
  EXPECT_EQ(objects->find(platform, Kind::platform), platform);
  EXPECT_EQ(objects->find(&context, Kind::context), nullptr);
  EXPECT_TRUE(objects->is_disowned(handle_of<cl_context>(&context)));
  EXPECT_FALSE(objects->is_disowned(handle_of<cl_command_queue>(&context)));
  EXPECT_FALSE(objects->is_disowned(handle_of<cl_context>(&ended)));
  EXPECT_FALSE(objects->is_disowned(handle_of<cl_context>(nullptr)));
  for (std::size_t i = 0; i < 2 * Arena::kQuarantine; ++i) {
    Object& next = make(Kind::context, *platform);
    ASSERT_NE(&next, &context) << "its memory is not used again";
    release(next);
  }
}

TEST_F(ObjectsTest, ParentOutlivesItsChildren) {
  Object& context = make(Kind::context, *platform);
  Object& queue = make(Kind::queue, context);
  Object& event = make(Kind::event, queue);
  release(context);
  release(queue);
  EXPECT_EQ(objects->wrap(Kind::queue, raw_of(queue), event), &queue) << "the same handle as before";
  EXPECT_EQ(objects->find(&context, Kind::context), &context);
  EXPECT_EQ(objects->release(queue), Objects::Remaining::invalid) << "the program has no reference left";
  release(event);
  EXPECT_EQ(objects->find(&queue, Kind::queue), nullptr);
  EXPECT_EQ(objects->find(&context, Kind::context), nullptr);
}

// Oclgrind's events name a queue that is gone already, and queues that are made later have its address.
TEST_F(ObjectsTest, HeldObjectIsFoundAfterItsAddressIsReused) {
  Object& context = make(Kind::context, *platform);
  Object& queue = make(Kind::queue, context);
  Object& event = make(Kind::event, queue);
  release(queue);
  Object& later = objects->publish(*objects->prepare(Kind::queue, context), raw_of(queue));
  Object& its_event = make(Kind::event, later);
  EXPECT_EQ(objects->wrap(Kind::queue, raw_of(queue), event), &queue);
  EXPECT_EQ(objects->wrap(Kind::queue, raw_of(queue), its_event), &later);
  release(event);
  EXPECT_EQ(objects->wrap(Kind::queue, raw_of(later), context), &later) << "the old one's end is not its own";
}

TEST_F(ObjectsTest, CloneBelongsToItsProgram) {
  Object& program = make(Kind::program, *platform);
  Object& kernel = make(Kind::kernel, program);
  Object& clone = make(Kind::kernel, kernel);
  release(kernel);
  release(program);
  EXPECT_EQ(objects->find(&kernel, Kind::kernel), nullptr);
  EXPECT_EQ(objects->find(&program, Kind::program), &program);
  release(clone);
  EXPECT_EQ(objects->find(&program, Kind::program), nullptr);
}

TEST_F(ObjectsTest, ContextHoldsManySubDevices) {
  Object* const device = objects->wrap(Kind::device, raw(), *platform);
  Object& context = *objects->prepare(Kind::context, *platform);
  std::vector<Object*> parts;
  for (int i = 0; i < 5; ++i) {
    parts.push_back(&make(Kind::device, *device));
    ASSERT_TRUE(objects->add_parent(context, *parts.back()));
  }
  objects->publish(context, raw());
  for (Object* const part : parts) release(*part);
  for (Object* const part : parts) EXPECT_NE(objects->find(part, Kind::device), nullptr);
  release(context);
  for (Object* const part : parts) EXPECT_EQ(objects->find(part, Kind::device), nullptr);
}

TEST_F(ObjectsTest, RootsAreNeverFreed) {
  void* const device = raw();
  Object* const object = objects->wrap(Kind::device, device, *platform);
  EXPECT_EQ(objects->wrap(Kind::device, device, *platform), object);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(objects->release(*object), Objects::Remaining::some);
  EXPECT_EQ(objects->find(object, Kind::device), object);
  EXPECT_EQ(objects->wrap(Kind::device, nullptr, *platform), nullptr);
}

TEST_F(ObjectsTest, FreedSlotIsQuarantinedBeforeReuse) {
  Object& first = make(Kind::event, *platform);
  release(first);
  for (std::size_t i = 0; i < Arena::kQuarantine; ++i) {
    Object& other = make(Kind::event, *platform);
    EXPECT_NE(&other, &first);
    release(other);
  }
  EXPECT_EQ(objects->find(&first, Kind::event), nullptr);
  EXPECT_EQ(&make(Kind::sampler, *platform), &first) << "then memory does not grow";
}

TEST_F(ObjectsTest, DriverMayReuseAnAddress) {
  void* const address = raw();
  Object& queue = objects->publish(*objects->prepare(Kind::queue, *platform), address);
  Object& event = make(Kind::event, queue);
  release(queue);
  Object& next = objects->publish(*objects->prepare(Kind::queue, *platform), address);
  EXPECT_EQ(objects->wrap(Kind::queue, address, *platform), &next);
  release(event);
  EXPECT_EQ(objects->wrap(Kind::queue, address, *platform), &next) << "the old one forgets only itself";
}

int ended = 0;

TEST_F(ObjectsTest, DestructionIsReportedOnce) {
  ended = 0;
  objects->set_finalizer([](Object&) noexcept { ++ended; });
  Object& context = make(Kind::context, *platform);
  Object& queue = make(Kind::queue, context);
  release(context);
  EXPECT_EQ(ended, 0) << "its queue holds it";
  release(queue);
  EXPECT_EQ(ended, 2);
  objects->discard(*objects->prepare(Kind::event, *platform));
  EXPECT_EQ(ended, 2) << "what never was has no end";
}

TEST_F(ObjectsTest, ConcurrentReferenceCountsAreExact) {
  Object& context = make(Kind::context, *platform);
  kit::on_threads(4, [&](std::size_t thread) {
    for (int i = 0; i < 5'000; ++i) {
      objects->retain(context);
      Object& queue = objects->publish(*objects->prepare(Kind::queue, context), &raws[99'999 - thread]);
      release(queue);
      release(context);
    }
  });
  EXPECT_EQ(objects->find(&context, Kind::context), &context);
  EXPECT_EQ(objects->release(context), Objects::Remaining::none);
}

}  // namespace
}  // namespace cleave::objects
