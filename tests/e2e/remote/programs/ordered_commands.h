// The objects of one of the threads in many_threads.cpp: queues, its own buffers, their expected contents, and its commands
// in flight.
//
// Its commands on one of its buffers are ordered, by a queue or by events, so it knows what the buffer holds when all have
// ended, whatever the other threads do.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "shared_context.h"

namespace work {

using Bytes = std::vector<unsigned char>;

// Of a buffer. Without an event it is on an in-order queue.
struct LastCommand {
  const OrderedQueue* queue = nullptr;
  SharedEvent event;
};

struct OrderedBuffer {
  kit::Buffer handle;
  Bytes contents;  // when everything that was enqueued has ended
  LastCommand last_command;
};

// Memory that a command on a buffer uses, and its expected contents then; empty: the command only reads the memory.
struct InFlight {
  const OrderedBuffer* buffer;
  Bytes memory;
  Bytes expected;
};

class OrderedCommands {
 public:
  // One of each kind: small data, data in shared memory, data through a ring.
  static constexpr std::size_t kSizes[] = {std::size_t{4} << 10U, std::size_t{300} << 10U,
                                           std::size_t{8} << 20U};
  static constexpr std::size_t kBuffers = 4;

  OrderedCommands(SharedContext& shared, unsigned seed, unsigned number) : shared_(shared), random_(seed) {
    for (unsigned i = 0; i < 4; ++i) own_.push_back(shared.queue(number + i, i < 2));
    for (const OrderedQueue& one : own_) queues_.push_back(&one);
    for (const OrderedQueue& one : shared.queues) queues_.push_back(&one);
    for (std::size_t i = 0; i < kBuffers; ++i) buffers_.push_back(new_buffer(kSizes[i % 3]));
  }
  OrderedCommands(const OrderedCommands&) = delete;
  OrderedCommands& operator=(const OrderedCommands&) = delete;
  ~OrderedCommands() = default;

  // Waits for all commands, and checks what they have read.
  void finish_and_check() {
    user_event_.reset();
    for (const OrderedQueue* const queue : queues_) flush(*queue);
    for (const OrderedQueue* const queue : queues_) check(cl().clFinish(queue->handle));
    for (const OrderedBuffer& one : buffers_) check_reads(one);
  }

  // When all commands on this buffer have ended.
  void check_reads(const OrderedBuffer& buffer) {
    std::erase_if(in_flight_, [&](const InFlight& one) {
      if (one.buffer != &buffer) return false;
      if (!one.expected.empty() && one.memory != one.expected) fail("a read", "wrong data");
      bytes_in_flight_ -= one.memory.size();
      return true;
    });
  }

  std::uint32_t check_all() {
    finish_and_check();
    std::uint32_t sum = 2166136261U;
    for (const OrderedBuffer& one : buffers_) {
      const Bytes bytes = cl().read<unsigned char>(own_[0].handle, one.handle, one.contents.size());
      if (bytes != one.contents) fail("a buffer", "wrong data at the end");
      for (const unsigned char byte : bytes) sum = (sum ^ byte) * 16777619U;
    }
    return sum;
  }

 protected:
  std::size_t below(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  std::size_t random_size(std::size_t most) {
    const std::size_t size = std::size_t{1} << below(24);
    return std::min(most, size + below(size));
  }
  const OrderedQueue& random_queue() { return *queues_[below(queues_.size())]; }
  OrderedBuffer& random_buffer() { return buffers_[below(buffers_.size())]; }

  Bytes random_bytes(std::size_t size) {
    Bytes bytes(size);
    std::uint32_t number = random_();
    for (unsigned char& byte : bytes)
      byte = static_cast<unsigned char>((number = number * 1664525U + 1013904223U) >> 24U);
    return bytes;
  }

  OrderedBuffer new_buffer(std::size_t size) {
    Bytes contents = random_bytes(size);
    kit::Buffer handle = cl().buffer(shared_.context, size);
    check(cl().write(own_[0].handle, handle, contents));
    return {std::move(handle), std::move(contents), {}};
  }

  static void flush(const OrderedQueue& queue) { check(cl().clFlush(queue.handle)); }

  // Adds the event that a command on this queue has to wait for to come after `last`.
  void follow(const OrderedQueue& queue, LastCommand& last, std::vector<SharedEvent>& waits) {
    if (last.queue == nullptr || (last.queue == &queue && queue.in_order)) return;
    if (last.event == nullptr) last.event = share(cl().marker_event(last.queue->handle));
    flush(*last.queue);
    waits.push_back(last.event);
  }

  // call(queue, waits, event) enqueues a command that comes after all others on these buffers.
  template <typename Call>
  SharedEvent enqueue(const OrderedQueue& queue, const std::vector<OrderedBuffer*>& buffers, Call call) {
    std::vector<SharedEvent> events;
    for (OrderedBuffer* const one : buffers) follow(queue, one->last_command, events);
    if (user_event_ != nullptr) {
      events.push_back(user_event_);
      if (--behind_user_event_ == 0) user_event_.reset();
    }
    const std::size_t place = below(EventExchange::kPlaces);
    if (one_in(8)) {
      if (const SharedEvent others = shared_.events.get(place)) events.push_back(others);
    }
    kit::Waits waits;
    for (const SharedEvent& one : events) waits.push_back(*one);
    if (one_in(6) && !waits.empty()) {
      check(cl().barrier(queue.handle, waits));
      waits.clear();
    }
    const bool wants_event = one_in(2) || !queue.in_order;
    kit::Event event = cl().event();
    check(call(queue.handle.get(), waits, wants_event ? event.out() : nullptr));
    const SharedEvent shared = event ? share(std::move(event)) : nullptr;
    for (OrderedBuffer* const one : buffers) one->last_command = {&queue, shared};
    if (one_in(10) && shared != nullptr) {
      flush(queue);
      shared_.events.put(place, shared);
    }
    return shared;
  }

  unsigned char* keep(const OrderedBuffer& buffer, Bytes memory, Bytes expected) {
    bytes_in_flight_ += memory.size();
    in_flight_.push_back({&buffer, std::move(memory), std::move(expected)});
    return in_flight_.back().memory.data();
  }

  struct Part {
    std::size_t at;
    std::size_t size;
  };
  Part random_part(const OrderedBuffer& buffer) {
    const std::size_t size = random_size(buffer.contents.size());
    return {below(buffer.contents.size() - size + 1), size};
  }
  Part random_words(const OrderedBuffer& buffer) {
    const Part part = random_part(buffer);
    const std::size_t at = part.at / 4 * 4;
    return {at, std::min(std::max<std::size_t>(part.size / 4 * 4, 4), buffer.contents.size() - at)};
  }

  SharedContext& shared_;
  Random random_;
  std::vector<OrderedQueue> own_;
  std::vector<const OrderedQueue*> queues_;  // own and shared ones
  std::vector<OrderedBuffer> buffers_;
  SharedEvent user_event_;             // that the next commands wait for
  std::size_t behind_user_event_ = 0;  // how many of them
  std::size_t bytes_in_flight_ = 0;

 private:
  std::vector<InFlight> in_flight_;
};

}  // namespace work
