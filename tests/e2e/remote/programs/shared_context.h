// What the threads of many_threads.cpp share: a context over all devices, queues, user events that are yet to be completed,
// and events to wait for.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "checked_work.h"

namespace work {

using SharedEvent = std::shared_ptr<const kit::Event>;
inline SharedEvent share(kit::Event event) { return std::make_shared<const kit::Event>(std::move(event)); }

struct OrderedQueue {
  kit::Queue handle;
  bool in_order;
};

// Completes user events: one whenever a thread calls, and the others from a thread of its own, so that none stays
// incomplete while all threads wait.
class UserEventCompleter {
 public:
  UserEventCompleter();
  UserEventCompleter(const UserEventCompleter&) = delete;
  UserEventCompleter& operator=(const UserEventCompleter&) = delete;
  ~UserEventCompleter();  // when all are complete

  void add(const SharedEvent& event);
  void complete_one();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SharedEvent> events_;
  bool ending_ = false;
  std::thread thread_;
};

// Events of commands that have been enqueued and flushed, for the wait lists of other threads.
class EventExchange {
 public:
  static constexpr std::size_t kPlaces = 16;
  void put(std::size_t place, const SharedEvent& event);
  SharedEvent get(std::size_t place);  // null: there is none

 private:
  std::mutex mutex_;
  std::array<SharedEvent, kPlaces> events_;
};

struct SharedContext {
  static constexpr std::size_t kSums = 64;

  SharedContext();
  SharedContext(const SharedContext&) = delete;
  SharedContext& operator=(const SharedContext&) = delete;
  ~SharedContext() = default;

  [[nodiscard]] OrderedQueue queue(std::size_t device, bool in_order) const;
  [[nodiscard]] SharedEvent user_event() const { return share(cl().user_event(context)); }

  std::vector<cl_device_id> devices;
  kit::Context context;
  kit::Program program;
  kit::Buffer sums;  // kernels of all threads add to it
  std::array<std::atomic<std::uint32_t>, kSums> expected_sums{};
  std::vector<OrderedQueue> queues;  // used by all threads
  UserEventCompleter user_events;
  EventExchange events;
  std::mutex many_queues;  // one thread at a time has very many: a server allows a client 512
};

}  // namespace work
