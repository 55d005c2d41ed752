// What the threads of one program share (many_threads.cpp): a context over all devices, queues, user events
// that are yet to be set, and events to wait for.
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

// Whoever needs an event has a share in it.
using SharedEvent = std::shared_ptr<std::remove_pointer_t<cl_event>>;
SharedEvent shared_event(cl_event event);

struct OrderedQueue {
  Queue handle;
  bool in_order;
};

// User events that wait for somebody to set them. Whoever comes by sets one; a thread of its own does what
// others leave, so that none stays unset while everybody waits.
class UserEventSetter {
 public:
  UserEventSetter();
  UserEventSetter(const UserEventSetter&) = delete;
  UserEventSetter& operator=(const UserEventSetter&) = delete;
  ~UserEventSetter();  // when all have been set

  void add(const SharedEvent& event, cl_int status);
  void set_one();

 private:
  struct Gate {
    SharedEvent event;
    cl_int status;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Gate> gates_;
  bool ending_ = false;
  std::thread thread_;
};

// Events of commands that have been enqueued and flushed, for others' wait lists.
class EventExchange {
 public:
  static constexpr std::size_t kPlaces = 16;
  void put(std::size_t place, const SharedEvent& event);
  SharedEvent look(std::size_t place);  // null: there is none

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
  [[nodiscard]] Memory buffer(std::size_t size) const;
  [[nodiscard]] Kernel kernel(const char* name) const;
  [[nodiscard]] SharedEvent user_event() const;

  std::vector<cl_device_id> devices;
  Context context;
  Program program;
  Memory sums;  // kernels of all threads add to it
  std::array<std::atomic<std::uint32_t>, kSums> expected_sums{};
  std::vector<OrderedQueue> queues;  // everybody's
  UserEventSetter gates;
  EventExchange board;
  std::mutex many_queues;  // one thread at a time has very many: a server lets a client have 512
};

}  // namespace work
