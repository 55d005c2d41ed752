// The client's half of shared memory: places, and rings against a server and a device that a test plays.
#include "remote/server/memory/shared_memory.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "remote/client/link/shared_area.h"
#include "remote/client/link/shared_ring.h"
#include "remote/protocol/limits.h"
#include "remote/transport/ring_slots.h"
#include "tests/kit/threads.h"

namespace cleave::remote::client {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::vector<std::byte> noise(std::size_t size, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random() >> 8U);
  return bytes;
}

Box all_of(std::vector<std::byte>& bytes) { return Box::contiguous(bytes.data(), bytes.size()); }

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
      std::fill_n(place.data(), size, mark);
      EXPECT_TRUE(std::all_of(place.data(), place.data() + size, [&](std::byte one) { return one == mark; }));
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

// The server's end of a ring as the protocol has it, and a device that copies the slices in their order on a
// thread of its own; `held` it does nothing.
class PlayedServer {
 public:
  PlayedServer(const SharedArea::Place& place, std::vector<std::byte>& memory, bool writes, bool held)
      : place_(place), memory_(memory), writes_(writes), held_(held) {
    if (!writes) {
      for (unsigned i = 0; i < std::min(slices(), Ring::kSlots); ++i) enqueue(i);
    }
    device_ = std::thread([this] { work(); });
  }
  PlayedServer(const PlayedServer&) = delete;
  PlayedServer& operator=(const PlayedServer&) = delete;
  ~PlayedServer() {
    let_go();
    finish();
  }

  Ring::Peer peer() {
    return {[this](std::span<const std::byte> slots) {
              for (const std::byte one : slots) told(static_cast<std::uint8_t>(one));
              return alive_.load();
            },
            [this] { return alive_.load(); }};
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    held_ = false;
    wake_.notify_all();
  }
  // All that was enqueued has ended.
  void finish() {
    if (!device_.joinable()) return;
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
      wake_.notify_all();
    }
    device_.join();
  }
  void die() { alive_ = false; }

  unsigned copies = 0;  // slices of which a copy was asked for, or that come over the socket
  unsigned in_place = 0;

 private:
  struct Job {
    std::optional<unsigned> slot;  // none: a copy, or over the socket
    std::size_t at;
    std::vector<std::byte> copy;
  };

  [[nodiscard]] std::size_t slices() const { return (memory_.size() + Ring::kSlice - 1) / Ring::kSlice; }
  std::uint32_t& word(unsigned slot) {
    return *reinterpret_cast<std::uint32_t*>(place_.data() + slot * sizeof(std::uint32_t));
  }
  std::byte* data(unsigned slot) { return place_.data() + Ring::kWords + slot * Ring::kSlice; }

  void enqueue(std::optional<unsigned> slot, std::vector<std::byte> copy = {}) {
    (slot ? in_place : copies) += 1;
    const std::scoped_lock lock(mutex_);
    jobs_.push_back({slot, next_, std::move(copy)});
    next_ += Ring::kSlice;
    wake_.notify_all();
  }

  void told(std::uint8_t byte) {
    if (!writes_) return enqueue(byte == kNoSlot ? std::nullopt : std::optional<unsigned>(byte));
    const unsigned slot = byte & ~unsigned{kCopySlotFlag};
    EXPECT_FALSE(is_returned(word(slot)));
    if (byte == slot) return enqueue(slot);
    std::vector<std::byte> copy(data(slot), data(slot) + std::min(Ring::kSlice, memory_.size() - next_));
    return_slot(word(slot));
    enqueue(std::nullopt, std::move(copy));
  }

  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return (!held_ && !jobs_.empty()) || (ending_ && jobs_.empty()); });
      if (jobs_.empty()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      const std::size_t size = std::min(Ring::kSlice, memory_.size() - job.at);
      if (writes_) {
        std::memcpy(memory_.data() + job.at, job.slot ? data(*job.slot) : job.copy.data(), size);
      } else if (job.slot) {
        std::memcpy(data(*job.slot), memory_.data() + job.at, size);
      }
      if (job.slot) return_slot(word(*job.slot));
    }
  }

  const SharedArea::Place& place_;
  std::vector<std::byte>& memory_;
  const bool writes_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool held_;
  bool ending_ = false;
  std::deque<Job> jobs_;
  std::size_t next_ = 0;
  std::atomic<bool> alive_{true};
  std::thread device_;
};

// Above a slice, below, at and above the slots; odd and even.
const std::size_t kSizes[] = {kMiB + 1, 3 * kMiB, 8 * kMiB, 8 * kMiB + 1, 21 * kMiB - 13, 40 * kMiB};

TEST(Ring, WritesArriveComplete) {
  const auto area = SharedArea::make();
  for (const std::size_t size : kSizes) {
    std::vector<std::byte> data = noise(size, 3);
    std::vector<std::byte> device(size);
    const auto place = area->allocate(Ring::kSize);
    ASSERT_TRUE(place);
    Ring ring(place, all_of(data));
    PlayedServer server(place, device, true, false);
    EXPECT_TRUE(ring.write(server.peer()));
    server.finish();
    EXPECT_EQ(device, data) << size;
    EXPECT_EQ(server.copies + server.in_place, ring.write_payload());
    EXPECT_GT(server.in_place, 0U);
    EXPECT_TRUE(is_ring_idle(place.data()));
  }
}

// A device that waits for something else takes nothing, and the write is sent all the same.
TEST(Ring, WritesAreAsynchronous) {
  const auto area = SharedArea::make();
  std::vector<std::byte> data = noise(20 * kMiB + 5, 4);
  std::vector<std::byte> device(data.size());
  const auto place = area->allocate(Ring::kSize);
  Ring ring(place, all_of(data));
  PlayedServer server(place, device, true, true);
  EXPECT_TRUE(ring.write(server.peer()));
  EXPECT_EQ(server.in_place, Ring::kSlots - 1);
  EXPECT_EQ(server.copies, ring.write_payload() - (Ring::kSlots - 1));
  server.let_go();
  server.finish();
  EXPECT_EQ(device, data);
}

TEST(Ring, ReadsArriveComplete) {
  const auto area = SharedArea::make();
  for (const std::size_t size : kSizes) {
    std::vector<std::byte> device = noise(size, 5);
    std::vector<std::byte> data(size);
    const auto place = area->allocate(Ring::kSize);
    ASSERT_TRUE(place);
    Ring ring(place, all_of(data));
    ring.begin_read();
    PlayedServer server(place, device, false, false);
    EXPECT_TRUE(ring.read_while_sending(server.peer()));
    EXPECT_EQ(server.copies + server.in_place, (size + Ring::kSlice - 1) / Ring::kSlice);
    ring.read_available(server.peer());
    server.finish();
    ring.read_remaining();
    if (ring.diverted() == 0) {
      EXPECT_EQ(data, device) << size;
    }
    EXPECT_TRUE(is_ring_idle(place.data()));
  }
}

TEST(Ring, ReadsAreAsynchronous) {
  const auto area = SharedArea::make();
  std::vector<std::byte> device = noise(20 * kMiB + 5, 6);
  std::vector<std::byte> data(device.size());
  const auto place = area->allocate(Ring::kSize);
  Ring ring(place, all_of(data));
  ring.begin_read();
  PlayedServer server(place, device, false, true);
  EXPECT_TRUE(ring.read_while_sending(server.peer()));
  EXPECT_EQ(server.in_place, Ring::kSlots);
  EXPECT_EQ(ring.diverted(), data.size() - Ring::kSlots * Ring::kSlice);
  ring.read_available(server.peer());
  server.let_go();
  server.finish();
  ring.read_remaining();
  EXPECT_TRUE(std::equal(data.begin(), data.begin() + Ring::kSlots * Ring::kSlice, device.begin()));
  EXPECT_TRUE(std::all_of(data.begin() + Ring::kSlots * Ring::kSlice, data.end(),
                          [](std::byte one) { return one == std::byte{}; }));
}

TEST(Ring, LostServerEndsTheWait) {
  const auto area = SharedArea::make();
  std::vector<std::byte> data(20 * kMiB);
  std::vector<std::byte> device(data.size());
  const auto place = area->allocate(Ring::kSize);
  Ring unheard(place, all_of(data));
  EXPECT_FALSE(unheard.write({[](std::span<const std::byte>) { return true; }, [] { return false; }}));
  Ring ring(place, all_of(data));
  PlayedServer server(place, device, true, false);
  server.die();
  EXPECT_FALSE(ring.write(server.peer()));
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
