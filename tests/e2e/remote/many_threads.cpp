// Threads that share a context over all devices, and make whatever of queues, events and data comes to their
// minds:
//
//   many_threads STEPS SEED THREADS     STEPS of each thread; or 60s: for so many seconds
//
// Each thread knows what its own buffers hold: what it does to one of them is ordered, by a queue or by
// events. What nothing orders are kernels that add to common sums. All that is read is looked at. Prints one
// line, which with STEPS is that of every device; the status is 0 where every result was right.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ordered_commands.h"

namespace {

using std::chrono::steady_clock;
using work::Buffer;
using work::Bytes;
using work::did;
using work::made;
using work::OrderedQueue;
using work::SharedContext;
using work::SharedEvent;

constexpr std::size_t kMany = 130;   // queues
constexpr std::size_t kOfMany = 64;  // bytes that each of them writes
constexpr std::size_t kMaxBytesInFlight = std::size_t{40} << 20U;

struct Options {
  std::size_t steps;
  steady_clock::time_point until;
  unsigned seed;
  unsigned threads;
};

class Worker : public work::OrderedWork {
 public:
  Worker(SharedContext& world, const Options& orders, unsigned number)
      : OrderedWork(world, orders.seed * 1000 + number, number),
        add_(world.kernel("add")),
        add_to_sum_(world.kernel("add_to_sum")),
        from_callback_(world.kernel("add_to_sum")),
        called_(world.queue(number, true)) {
    set_sum_arguments(from_callback_, kCalledPlace, 1);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() = default;

  void random_step() {
    using Step = void (Worker::*)();
    constexpr Step kSteps[] = {&Worker::write,
                               &Worker::write,
                               &Worker::read,
                               &Worker::read,
                               &Worker::fill,
                               &Worker::copy,
                               &Worker::launch,
                               &Worker::launch,
                               &Worker::map,
                               &Worker::add_to_sum,
                               &Worker::add_to_sum,
                               &Worker::use_temporary_buffer,
                               &Worker::wait_for_user_event,
                               &Worker::mark,
                               &Worker::be_called,
                               &Worker::flush_or_finish,
                               &Worker::set_a_user_event,
                               &Worker::add_much};
    if (one_in(60)) {
      use_many_queues();
    } else {
      (this->*kSteps[below(std::size(kSteps))])();
    }
    if (bytes_in_flight_ > kMaxBytesInFlight || one_in(40)) end_all();
  }

  // Waits for all of it and looks at what has come.
  void end_all() {
    while (calls_.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    did("clFinish", [&] { return clFinish(called_.handle.get()); });
    settle();
  }

 private:
  static constexpr cl_uint kCalledPlace = 0;

  void set_sum_arguments(const work::Kernel& kernel, cl_uint place, cl_uint n) {
    cl_mem sums = shared_.sums.get();
    did("clSetKernelArg", [&] { return clSetKernelArg(kernel.get(), 0, sizeof sums, &sums); });
    did("clSetKernelArg", [&] { return clSetKernelArg(kernel.get(), 1, sizeof place, &place); });
    did("clSetKernelArg", [&] { return clSetKernelArg(kernel.get(), 2, sizeof n, &n); });
  }

  void write() {
    Buffer& buffer = any_buffer();
    const Part part = any_part(buffer);
    Bytes bytes = some_bytes(part.size);
    std::copy(bytes.begin(), bytes.end(), buffer.contents.begin() + static_cast<std::ptrdiff_t>(part.at));
    const cl_bool blocking = one_in(6) ? CL_TRUE : CL_FALSE;
    const unsigned char* const from = keep(buffer, std::move(bytes), {});
    enqueue("a write", any_queue(), {&buffer}, [&](auto queue, auto count, auto list, auto event) {
      return clEnqueueWriteBuffer(queue, buffer.handle.get(), blocking, part.at, part.size, from, count, list,
                                  event);
    });
  }

  void read() {
    Buffer& buffer = any_buffer();
    const Part part = any_part(buffer);
    const auto begin = buffer.contents.begin() + static_cast<std::ptrdiff_t>(part.at);
    const cl_bool blocking = one_in(6) ? CL_TRUE : CL_FALSE;
    unsigned char* const into =
        keep(buffer, Bytes(part.size), Bytes(begin, begin + static_cast<std::ptrdiff_t>(part.size)));
    enqueue("a read", any_queue(), {&buffer}, [&](auto queue, auto count, auto list, auto event) {
      return clEnqueueReadBuffer(queue, buffer.handle.get(), blocking, part.at, part.size, into, count, list,
                                 event);
    });
    if (blocking != CL_FALSE) look_at(buffer);
  }

  void fill() {
    Buffer& buffer = any_buffer();
    const Part part = any_words(buffer);
    const cl_uint pattern = random_();
    for (std::size_t i = 0; i < part.size; i += 4) std::memcpy(&buffer.contents[part.at + i], &pattern, 4);
    enqueue("a fill", any_queue(), {&buffer}, [&](auto queue, auto count, auto list, auto event) {
      return clEnqueueFillBuffer(queue, buffer.handle.get(), &pattern, sizeof pattern, part.at, part.size,
                                 count, list, event);
    });
  }

  void copy() {
    const std::size_t from = below(kBuffers);
    Buffer& source = buffers_[from];
    Buffer& target = buffers_[(from + 1 + below(kBuffers - 1)) % kBuffers];
    const std::size_t size = some_size(std::min(source.contents.size(), target.contents.size()));
    std::memcpy(target.contents.data(), source.contents.data(), size);
    enqueue("a copy", any_queue(), {&source, &target}, [&](auto queue, auto count, auto list, auto event) {
      return clEnqueueCopyBuffer(queue, source.handle.get(), target.handle.get(), 0, 0, size, count, list,
                                 event);
    });
  }

  void launch() {
    Buffer& buffer = any_buffer();
    const std::size_t words = any_words(buffer).size / 4;
    const cl_uint n = random_();
    for (std::size_t i = 0; i < words; ++i) {
      cl_uint word = 0;
      std::memcpy(&word, &buffer.contents[i * 4], sizeof word);
      word += n;
      std::memcpy(&buffer.contents[i * 4], &word, sizeof word);
    }
    cl_mem raw = buffer.handle.get();
    did("clSetKernelArg", [&] { return clSetKernelArg(add_.get(), 0, sizeof raw, &raw); });
    did("clSetKernelArg", [&] { return clSetKernelArg(add_.get(), 1, sizeof n, &n); });
    enqueue("a launch", any_queue(), {&buffer}, [&](auto queue, auto count, auto list, auto event) {
      return clEnqueueNDRangeKernel(queue, add_.get(), 1, nullptr, &words, nullptr, count, list, event);
    });
  }

  void map() {
    Buffer& buffer = any_buffer();
    const Part part = any_part(buffer);
    const bool writes = one_in(2);
    const cl_map_flags flags = !writes     ? CL_MAP_READ
                               : one_in(2) ? CL_MAP_WRITE
                                           : CL_MAP_WRITE_INVALIDATE_REGION;
    const cl_bool blocking = one_in(2) ? CL_TRUE : CL_FALSE;
    OrderedQueue& queue = any_queue();
    unsigned char* mapped = nullptr;
    const SharedEvent over =
        enqueue("a map", queue, {&buffer}, [&](auto raw, auto count, auto list, auto event) {
          cl_int error = CL_SUCCESS;
          mapped = static_cast<unsigned char*>(clEnqueueMapBuffer(
              raw, buffer.handle.get(), blocking, flags, part.at, part.size, count, list, event, &error));
          return error;
        });
    if (blocking == CL_FALSE) await(queue, over);
    unsigned char* const contents = &buffer.contents[part.at];
    if (writes) {
      const Bytes bytes = some_bytes(part.size);
      std::copy(bytes.begin(), bytes.end(), contents);
      std::copy(bytes.begin(), bytes.end(), mapped);
    } else if (std::memcmp(mapped, contents, part.size) != 0) {
      work::wrong("a map", "other data");
    }
    enqueue("an unmap", any_queue(), {&buffer}, [&](auto raw, auto count, auto list, auto event) {
      return clEnqueueUnmapMemObject(raw, buffer.handle.get(), mapped, count, list, event);
    });
  }

  static void await(const OrderedQueue& queue, const SharedEvent& event) {
    cl_event raw = event.get();
    if (raw == nullptr) {
      did("clFinish", [&] { return clFinish(queue.handle.get()); });
    } else {
      did("clWaitForEvents", [&] { return clWaitForEvents(1, &raw); });
    }
  }

  void add_to_sum() {
    const auto place = static_cast<cl_uint>(1 + below(SharedContext::kSums - 1));
    const cl_uint n = random_() % 1000;
    const std::size_t items = 1 + below(100);
    shared_.expected_sums[place] += n * static_cast<cl_uint>(items);
    set_sum_arguments(add_to_sum_, place, n);
    enqueue("a launch", any_queue(), {}, [&](auto queue, auto count, auto list, auto event) {
      return clEnqueueNDRangeKernel(queue, add_to_sum_.get(), 1, nullptr, &items, nullptr, count, list,
                                    event);
    });
  }

  // Commands that nobody waits for.
  void add_much() {
    OrderedQueue& queue = any_queue();
    const std::size_t one = 1;
    const std::size_t times = below(100);
    shared_.expected_sums[1] += static_cast<cl_uint>(times);
    set_sum_arguments(add_to_sum_, 1, 1);
    for (std::size_t i = 0; i < times; ++i) {
      did("a launch", [&] {
        return clEnqueueNDRangeKernel(queue.handle.get(), add_to_sum_.get(), 1, nullptr, &one, nullptr, 0,
                                      nullptr, nullptr);
      });
    }
  }

  // A buffer, and perhaps a queue, that are let go of while they are in use.
  void use_temporary_buffer() {
    Buffer& target = any_buffer();
    const Part part = any_words(target);
    const cl_uint pattern = random_();
    const work::Memory moment = shared_.buffer(part.size);
    OrderedQueue& queue = own_[below(2)];
    did("a fill", [&] {
      return clEnqueueFillBuffer(queue.handle.get(), moment.get(), &pattern, sizeof pattern, 0, part.size, 0,
                                 nullptr, nullptr);
    });
    for (std::size_t i = 0; i < part.size; i += 4) std::memcpy(&target.contents[part.at + i], &pattern, 4);
    enqueue("a copy", queue, {&target}, [&](auto raw, auto count, auto list, auto event) {
      return clEnqueueCopyBuffer(raw, moment.get(), target.handle.get(), 0, part.at, part.size, count, list,
                                 event);
    });
  }

  // The next commands wait for what somebody else does.
  void wait_for_user_event() {
    gate_ = shared_.user_event();
    behind_gate_ = 1 + below(6);
    shared_.gates.add(gate_, CL_COMPLETE);
  }

  void set_a_user_event() { shared_.gates.set_one(); }

  void mark() {
    OrderedQueue& queue = any_queue();
    if (one_in(2)) {
      enqueue("a marker", queue, {&any_buffer()}, [&](auto raw, auto count, auto list, auto event) {
        return clEnqueueMarkerWithWaitList(raw, count, list, event);
      });
    } else {
      enqueue("a barrier", queue, {}, [&](auto raw, auto count, auto list, auto event) {
        return clEnqueueBarrierWithWaitList(raw, count, list, event);
      });
    }
  }

  // A function that is called at a command's end enqueues another one and opens a gate.
  struct Call {
    Worker* worker;
    SharedEvent gate;
  };
  static void CL_CALLBACK ended(cl_event, cl_int status, void* data) try {
    const std::unique_ptr<Call> call(static_cast<Call*>(data));
    if (status != CL_COMPLETE) work::wrong("a callback", "status " + std::to_string(status));
    Worker& worker = *call->worker;
    const std::size_t one = 1;
    did("a launch in a callback", [&] {
      return clEnqueueNDRangeKernel(worker.called_.handle.get(), worker.from_callback_.get(), 1, nullptr,
                                    &one, nullptr, 0, nullptr, nullptr);
    });
    did("clSetUserEventStatus", [&] { return clSetUserEventStatus(call->gate.get(), CL_COMPLETE); });
    --worker.calls_;
  } catch (const work::DeviceLost& lost) {
    work::wrong(lost.call, "error " + std::to_string(lost.error));
  }

  void be_called() {
    OrderedQueue& queue = any_queue();
    Buffer& buffer = any_buffer();
    cl_event raw = nullptr;
    std::vector<SharedEvent> waits;
    follow(queue, buffer.newest, waits);
    cl_event const list = waits.empty() ? nullptr : waits[0].get();
    did("a marker", [&] {
      return clEnqueueMarkerWithWaitList(queue.handle.get(), list == nullptr ? 0 : 1,
                                         list == nullptr ? nullptr : &list, &raw);
    });
    const SharedEvent event = work::shared_event(raw);
    const SharedEvent gate = shared_.user_event();
    ++shared_.expected_sums[kCalledPlace];
    ++calls_;
    did("clSetEventCallback", [&] {
      return clSetEventCallback(raw, CL_COMPLETE, &ended, new Call{this, gate});
    });
    flush(queue);
    gate_ = gate;
    behind_gate_ = 1 + below(6);
  }

  void flush_or_finish() {
    OrderedQueue& queue = any_queue();
    if (one_in(2)) return flush(queue);
    did("clFinish", [&] { return clFinish(queue.handle.get()); });
  }

  // A little on each of very many queues, some of which are let go of at once.
  void use_many_queues() {
    const std::scoped_lock lock(shared_.many_queues);
    Buffer wide = new_buffer(kMany * kOfMany);
    std::vector<OrderedQueue> queues;
    std::vector<SharedEvent> ends;
    for (std::size_t i = 0; i < kMany; ++i) queues.push_back(shared_.queue(one_in(16) ? 1 : 0, true));
    for (std::size_t i = 0; i < kMany; ++i) {
      const std::size_t times = 1 + below(12);
      cl_event event = nullptr;
      const bool waits = one_in(2);
      for (std::size_t j = 0; j < times; ++j) {
        const cl_uint pattern = random_();
        for (std::size_t at = 0; at < kOfMany; at += 4)
          std::memcpy(&wide.contents[i * kOfMany + at], &pattern, sizeof pattern);
        did("a fill", [&] {
          return clEnqueueFillBuffer(queues[i].handle.get(), wide.handle.get(), &pattern, sizeof pattern,
                                     i * kOfMany, kOfMany, 0, nullptr,
                                     waits && j + 1 == times ? &event : nullptr);
        });
      }
      if (!waits) continue;
      ends.push_back(work::shared_event(event));
      if (one_in(2)) queues[i].handle.reset();
    }
    for (const OrderedQueue& one : queues) {
      if (one.handle != nullptr) did("clFinish", [&] { return clFinish(one.handle.get()); });
    }
    std::vector<cl_event> list;
    for (const SharedEvent& one : ends) list.push_back(one.get());
    Bytes bytes(wide.contents.size());
    did("a blocking read", [&] {
      return clEnqueueReadBuffer(own_[below(own_.size())].handle.get(), wide.handle.get(), CL_TRUE, 0,
                                 bytes.size(), bytes.data(), static_cast<cl_uint>(list.size()),
                                 list.empty() ? nullptr : list.data(), nullptr);
    });
    if (bytes != wide.contents) work::wrong("many queues", "other data");
  }

  work::Kernel add_;
  work::Kernel add_to_sum_;
  work::Kernel from_callback_;
  OrderedQueue called_;
  std::atomic<unsigned> calls_{0};
};

std::uint32_t work_on(SharedContext& world, const Options& orders, unsigned number) try {
  Worker worker(world, orders, number);
  for (std::size_t i = 0; i < orders.steps && steady_clock::now() < orders.until; ++i) worker.random_step();
  worker.end_all();
  return worker.check_all();
} catch (const work::DeviceLost& lost) {
  work::wrong(lost.call, "error " + std::to_string(lost.error));
}

void check_sums(SharedContext& world) {
  std::vector<cl_uint> sums(SharedContext::kSums);
  did("a blocking read", [&] {
    return clEnqueueReadBuffer(world.queues[0].handle.get(), world.sums.get(), CL_TRUE, 0,
                               sums.size() * sizeof sums[0], sums.data(), 0, nullptr, nullptr);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != world.expected_sums[i]) work::wrong("a sum", std::to_string(i));
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 4) return std::fputs("many_threads STEPS|SECONDSs SEED THREADS\n", stderr), 2;
  const std::string length = arguments[1];
  const bool timed = length.back() == 's';
  const std::size_t number = std::stoul(length);
  const Options orders{
      timed ? SIZE_MAX : number,
      timed ? steady_clock::now() + std::chrono::seconds(number) : steady_clock::time_point::max(),
      static_cast<unsigned>(std::stoul(arguments[2])), static_cast<unsigned>(std::stoul(arguments[3]))};
  SharedContext world;
  std::vector<std::uint32_t> sums(orders.threads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < orders.threads; ++i)
    threads.emplace_back([&, i] { sums[i] = work_on(world, orders, i); });
  for (std::thread& one : threads) one.join();
  check_sums(world);
  std::printf("%u threads:", orders.threads);
  for (const std::uint32_t sum : sums) timed ? 0 : std::printf(" %08x", sum);
  std::puts(" right");
  return 0;
} catch (const work::DeviceLost& lost) {
  std::fprintf(stderr, "%s: error %d\n", lost.call, lost.error);
  return 1;
}
