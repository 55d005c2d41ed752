// The client's end of a ring, by one thread and by several, against a server and a device that a test plays.
#include "remote/client/link/shared_ring.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "remote/client/link/copy_threads.h"
#include "remote/client/link/shared_area.h"
#include "remote/protocol/limits.h"
#include "remote/transport/ring_slots.h"
#include "tests/unit/remote/noise.h"

namespace cleave::remote::client {
namespace {

Box all_of(std::vector<std::byte>& bytes) { return Box::contiguous(bytes.data(), bytes.size()); }

// The server's end of a ring as the protocol has it, and a device that copies the slices in their order on a
// thread of its own; `held` it does nothing.
class PlayedServer {
 public:
  PlayedServer(const SharedArea::Place& place, std::vector<std::byte>& memory, bool writes, bool held)
      : place_(place),
        slice_(Ring::capacity(place) / Ring::kSlots),
        memory_(memory),
        writes_(writes),
        held_(held) {
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

  unsigned copies = 0;  // slices of which a copy was requested, or that come over the socket
  unsigned in_place = 0;

 private:
  struct Job {
    std::optional<unsigned> slot;  // none: a copy, or over the socket
    std::size_t at;
    std::vector<std::byte> copy;
  };

  [[nodiscard]] std::size_t slices() const { return (memory_.size() + slice_ - 1) / slice_; }
  std::uint32_t& word(unsigned slot) {
    return *reinterpret_cast<std::uint32_t*>(place_.data() + slot * sizeof(std::uint32_t));
  }
  std::byte* data(unsigned slot) { return place_.data() + Ring::kWords + slot * slice_; }

  void enqueue(std::optional<unsigned> slot, std::vector<std::byte> copy = {}) {
    (slot ? in_place : copies) += 1;
    const std::scoped_lock lock(mutex_);
    jobs_.push_back({slot, next_, std::move(copy)});
    next_ += slice_;
    wake_.notify_all();
  }

  void told(std::uint8_t byte) {
    if (!writes_) return enqueue(byte == kNoSlot ? std::nullopt : std::optional<unsigned>(byte));
    const unsigned slot = byte & ~unsigned{kCopySlotFlag};
    EXPECT_FALSE(is_returned(word(slot)));
    if (byte == slot) return enqueue(slot);
    std::vector<std::byte> copy(data(slot), data(slot) + std::min(slice_, memory_.size() - next_));
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
      const std::size_t size = std::min(slice_, memory_.size() - job.at);
      if (writes_) {
        std::memcpy(memory_.data() + job.at, job.slot ? data(*job.slot) : job.copy.data(), size);
      } else if (job.slot) {
        std::memcpy(data(*job.slot), memory_.data() + job.at, size);
      }
      if (job.slot) return_slot(word(*job.slot));
    }
  }

  const SharedArea::Place& place_;
  const std::size_t slice_;
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

// How many threads copy.
class Rings : public testing::TestWithParam<unsigned> {
 protected:
  static bool is_large() { return GetParam() > 1; }
  static std::size_t place_size() { return is_large() ? Ring::kLargeSize : Ring::kSize; }
  static std::size_t slice() { return is_large() ? Ring::kLargeSlice : Ring::kSlice; }
  CopyThreads threads{GetParam()};
};

TEST_P(Rings, WritesArriveComplete) {
  const auto area = SharedArea::make();
  for (const std::size_t size : kSizes) {
    std::vector<std::byte> data = noise(size, 3);
    std::vector<std::byte> device(size);
    const auto place = area->allocate(place_size());
    ASSERT_TRUE(place);
    Ring ring(place, all_of(data), threads);
    PlayedServer server(place, device, true, false);
    EXPECT_TRUE(ring.write(server.peer()));
    server.finish();
    EXPECT_TRUE(are_same(device, data)) << size;
    EXPECT_EQ(server.copies + server.in_place, ring.write_payload());
    EXPECT_GT(server.in_place, 0U);
    EXPECT_TRUE(is_ring_idle(place.data()));
  }
}

// A device that waits for something else takes nothing, and the write is sent all the same.
TEST_P(Rings, WritesAreAsynchronous) {
  const auto area = SharedArea::make();
  std::vector<std::byte> data = noise(20 * kMiB + 5, 4);
  std::vector<std::byte> device(data.size());
  const auto place = area->allocate(place_size());
  Ring ring(place, all_of(data), threads);
  PlayedServer server(place, device, true, true);
  EXPECT_TRUE(ring.write(server.peer()));
  EXPECT_EQ(server.in_place, Ring::kSlots - 1);
  EXPECT_EQ(server.copies, ring.write_payload() - (Ring::kSlots - 1));
  server.let_go();
  server.finish();
  EXPECT_TRUE(are_same(device, data));
}

TEST_P(Rings, ReadsArriveComplete) {
  const auto area = SharedArea::make();
  for (const std::size_t size : kSizes) {
    std::vector<std::byte> device = noise(size, 5);
    std::vector<std::byte> data(size);
    const auto place = area->allocate(place_size());
    ASSERT_TRUE(place);
    Ring ring(place, all_of(data), threads);
    ring.begin_read();
    PlayedServer server(place, device, false, false);
    EXPECT_TRUE(ring.read_while_sending(server.peer()));
    EXPECT_EQ(server.copies + server.in_place, (size + slice() - 1) / slice());
    ring.read_available(server.peer());
    server.finish();
    ring.read_remaining();
    if (ring.diverted() == 0) {
      EXPECT_TRUE(are_same(data, device)) << size;
    }
    EXPECT_TRUE(is_ring_idle(place.data()));
  }
}

TEST_P(Rings, ReadsAreAsynchronous) {
  const auto area = SharedArea::make();
  std::vector<std::byte> device = noise(20 * kMiB + 5, 6);
  std::vector<std::byte> data(device.size());
  const auto place = area->allocate(place_size());
  Ring ring(place, all_of(data), threads);
  ring.begin_read();
  PlayedServer server(place, device, false, true);
  EXPECT_TRUE(ring.read_while_sending(server.peer()));
  EXPECT_EQ(server.in_place, Ring::kSlots);
  EXPECT_EQ(ring.diverted(), data.size() - Ring::kSlots * slice());
  ring.read_available(server.peer());
  server.let_go();
  server.finish();
  ring.read_remaining();
  EXPECT_TRUE(std::equal(data.begin(), data.begin() + Ring::kSlots * slice(), device.begin()));
  EXPECT_TRUE(std::all_of(data.begin() + Ring::kSlots * slice(), data.end(),
                          [](std::byte one) { return one == std::byte{}; }));
}

TEST_P(Rings, LostServerEndsTheWait) {
  const auto area = SharedArea::make();
  std::vector<std::byte> data(20 * kMiB);
  std::vector<std::byte> device(data.size());
  const auto place = area->allocate(place_size());
  Ring unheard(place, all_of(data), threads);
  EXPECT_FALSE(unheard.write({[](std::span<const std::byte>) { return true; }, [] { return false; }}));
  Ring ring(place, all_of(data), threads);
  PlayedServer server(place, device, true, false);
  server.die();
  EXPECT_FALSE(ring.write(server.peer()));
}

INSTANTIATE_TEST_SUITE_P(Threads, Rings, testing::Values(1U, 2U, 4U));

}  // namespace
}  // namespace cleave::remote::client
