// What one of many threads works with (many_threads.cpp): queues, its own buffers, what they hold, and what
// is under way on them.
//
// What it does to one of its buffers is ordered, by a queue or by events, so it knows what that holds when
// all has ended, whatever the other threads do.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "shared_context.h"

namespace work {

using Bytes = std::vector<unsigned char>;

// The newest command on a buffer. Without an event it is on a queue that keeps the order.
struct LastCommand {
  const OrderedQueue* queue = nullptr;
  SharedEvent event;
};

struct Buffer {
  Memory handle;
  Bytes contents;  // when all that was enqueued has ended
  LastCommand newest;
};

// Memory that a command on a buffer uses, and what it has to be then; empty: it only reads it.
struct InFlight {
  const Buffer* buffer;
  Bytes memory;
  Bytes expected;
};

class OrderedWork {
 public:
  // One of each: small data, what is shared, what goes through a ring.
  static constexpr std::size_t kSizes[] = {std::size_t{4} << 10U, std::size_t{300} << 10U,
                                           std::size_t{8} << 20U};
  static constexpr std::size_t kBuffers = 4;

  OrderedWork(SharedContext& world, unsigned seed, unsigned number) : shared_(world), random_(seed) {
    for (unsigned i = 0; i < 4; ++i) own_.push_back(world.queue(number + i, i < 2));
    for (const OrderedQueue& one : own_) queues_.push_back(&one);
    for (const OrderedQueue& one : world.queues) queues_.push_back(&one);
    for (std::size_t i = 0; i < kBuffers; ++i) buffers_.push_back(new_buffer(kSizes[i % 3]));
  }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;
  ~OrderedWork() = default;

  // Waits for all of it and looks at what has come.
  void settle() {
    gate_.reset();
    for (const OrderedQueue* const queue : queues_) flush(*queue);
    for (const OrderedQueue* const queue : queues_)
      did("clFinish", [&] { return clFinish(queue->handle.get()); });
    for (const Buffer& one : buffers_) look_at(one);
  }

  // All commands on this buffer have ended.
  void look_at(const Buffer& buffer) {
    std::erase_if(in_flight_, [&](const InFlight& one) {
      if (one.buffer != &buffer) return false;
      if (!one.expected.empty() && one.memory != one.expected) wrong("a read", "other data");
      bytes_in_flight_ -= one.memory.size();
      return true;
    });
  }

  std::uint32_t check_all() {
    settle();
    std::uint32_t sum = 2166136261U;
    for (Buffer& one : buffers_) {
      Bytes bytes(one.contents.size());
      did("a blocking read", [&] {
        return clEnqueueReadBuffer(own_[0].handle.get(), one.handle.get(), CL_TRUE, 0, bytes.size(),
                                   bytes.data(), 0, nullptr, nullptr);
      });
      if (bytes != one.contents) wrong("a buffer", "other data at the end");
      for (const unsigned char byte : bytes) sum = (sum ^ byte) * 16777619U;
    }
    return sum;
  }

 protected:
  std::size_t below(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  std::size_t some_size(std::size_t most) {
    const std::size_t size = std::size_t{1} << below(24);
    return std::min(most, size + below(size));
  }
  OrderedQueue& any_queue() { return const_cast<OrderedQueue&>(*queues_[below(queues_.size())]); }
  Buffer& any_buffer() { return buffers_[below(buffers_.size())]; }

  Bytes some_bytes(std::size_t size) {
    Bytes bytes(size);
    std::uint32_t number = random_();
    for (unsigned char& byte : bytes)
      byte = static_cast<unsigned char>((number = number * 1664525U + 1013904223U) >> 24U);
    return bytes;
  }

  Buffer new_buffer(std::size_t size) {
    Buffer buffer{shared_.buffer(size), some_bytes(size), {}};
    did("a blocking write", [&] {
      return clEnqueueWriteBuffer(own_[0].handle.get(), buffer.handle.get(), CL_TRUE, 0, size,
                                  buffer.contents.data(), 0, nullptr, nullptr);
    });
    return buffer;
  }

  static void flush(const OrderedQueue& queue) {
    did("clFlush", [&] { return clFlush(queue.handle.get()); });
  }

  // What a command on this queue has to wait for to come after that one.
  void follow(const OrderedQueue& queue, LastCommand& newest, std::vector<SharedEvent>& waits) {
    if (newest.queue == nullptr || (newest.queue == &queue && queue.in_order)) return;
    if (newest.event == nullptr) {
      cl_event event = nullptr;
      did("clEnqueueMarkerWithWaitList",
          [&] { return clEnqueueMarkerWithWaitList(newest.queue->handle.get(), 0, nullptr, &event); });
      newest.event = shared_event(event);
    }
    flush(*newest.queue);
    waits.push_back(newest.event);
  }

  // call(queue, count, list, event) enqueues a command that comes after all others on these buffers.
  template <typename Call>
  SharedEvent enqueue(const char* name, OrderedQueue& queue, const std::vector<Buffer*>& buffers, Call call) {
    std::vector<SharedEvent> waits;
    for (Buffer* const one : buffers) follow(queue, one->newest, waits);
    if (gate_ != nullptr) {
      waits.push_back(gate_);
      if (--behind_gate_ == 0) gate_.reset();
    }
    const std::size_t place = below(EventExchange::kPlaces);
    if (one_in(8)) {
      if (const SharedEvent others = shared_.board.look(place)) waits.push_back(others);
    }
    std::vector<cl_event> list;
    for (const SharedEvent& one : waits) list.push_back(one.get());
    const bool behind_barrier = one_in(6) && !list.empty();
    if (behind_barrier) {
      did("clEnqueueBarrierWithWaitList", [&] {
        return clEnqueueBarrierWithWaitList(queue.handle.get(), static_cast<cl_uint>(list.size()),
                                            list.data(), nullptr);
      });
      list.clear();
    }
    const bool wants_event = one_in(2) || !queue.in_order;
    cl_event event = nullptr;
    did(name, [&] {
      return call(queue.handle.get(), static_cast<cl_uint>(list.size()), list.empty() ? nullptr : list.data(),
                  wants_event ? &event : nullptr);
    });
    const SharedEvent made = event == nullptr ? nullptr : shared_event(event);
    for (Buffer* const one : buffers) one->newest = {&queue, made};
    if (one_in(10) && made != nullptr) {
      flush(queue);
      shared_.board.put(place, made);
    }
    return made;
  }

  unsigned char* keep(const Buffer& buffer, Bytes memory, Bytes expected) {
    bytes_in_flight_ += memory.size();
    in_flight_.push_back({&buffer, std::move(memory), std::move(expected)});
    return in_flight_.back().memory.data();
  }

  struct Part {
    std::size_t at;
    std::size_t size;
  };
  Part any_part(const Buffer& buffer) {
    const std::size_t size = some_size(buffer.contents.size());
    return {below(buffer.contents.size() - size + 1), size};
  }
  Part any_words(const Buffer& buffer) {
    const Part part = any_part(buffer);
    const std::size_t at = part.at / 4 * 4;
    return {at, std::min(std::max<std::size_t>(part.size / 4 * 4, 4), buffer.contents.size() - at)};
  }

  SharedContext& shared_;
  Random random_;
  std::vector<OrderedQueue> own_;
  std::vector<const OrderedQueue*> queues_;  // own ones and everybody's
  std::vector<Buffer> buffers_;
  SharedEvent gate_;  // for so many commands more
  std::size_t behind_gate_ = 0;
  std::size_t bytes_in_flight_ = 0;

 private:
  std::vector<InFlight> in_flight_;
};

}  // namespace work
