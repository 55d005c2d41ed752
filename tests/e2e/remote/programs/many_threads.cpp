// Threads that share a context over all devices and execute random commands on queues, events and data:
//
//   many_threads STEPS SEED THREADS     STEPS of each thread; or 60s: for so many seconds
//
// Each thread knows what its own buffers hold: its commands on one of them are ordered, by a queue or by events. Only
// kernels that add to shared sums are not ordered. Everything that is read is checked. Prints one line, which with STEPS
// is the same on every device; the status is 0 if every result was right.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ordered_commands.h"
#include "tests/kit/threads.h"

namespace {

using kit::Blocking;
using std::chrono::steady_clock;
using work::Bytes;
using work::check;
using work::cl;
using work::OrderedBuffer;
using work::OrderedQueue;
using work::share;
using work::SharedContext;
using work::SharedEvent;

constexpr std::size_t kManyQueues = 130;
constexpr std::size_t kBytesEach = 64;  // that each of them writes
constexpr std::size_t kMaxBytesInFlight = std::size_t{40} << 20U;

struct Options {
  std::size_t steps;
  steady_clock::time_point until;
  unsigned seed;
  unsigned threads;
};

class Thread : public work::OrderedCommands {
 public:
  Thread(SharedContext& shared, const Options& options, unsigned number)
      : OrderedCommands(shared, options.seed * 1000 + number, number),
        add_(cl().kernel(shared.program, "add")),
        add_to_sum_(cl().kernel(shared.program, "add_to_sum")),
        from_callback_(cl().kernel(shared.program, "add_to_sum", shared.sums, kCallbackPlace, cl_uint{1})),
        callback_queue_(shared.queue(number, true)) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() = default;

  void random_step() {
    using Step = void (Thread::*)();
    constexpr Step kSteps[] = {&Thread::write,
                               &Thread::write,
                               &Thread::read,
                               &Thread::read,
                               &Thread::fill,
                               &Thread::copy,
                               &Thread::launch,
                               &Thread::launch,
                               &Thread::map,
                               &Thread::add_to_sum,
                               &Thread::add_to_sum,
                               &Thread::use_temporary_buffer,
                               &Thread::use_user_event,
                               &Thread::mark,
                               &Thread::launch_in_callback,
                               &Thread::flush_or_finish,
                               &Thread::complete_a_user_event,
                               &Thread::launch_without_waiting};
    if (one_in(60)) {
      use_many_queues();
    } else {
      (this->*kSteps[below(std::size(kSteps))])();
    }
    if (bytes_in_flight_ > kMaxBytesInFlight || one_in(40)) finish_all();
  }

  // Waits for all commands, and checks what they have read.
  void finish_all() {
    while (pending_callbacks_.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    check(cl().clFinish(callback_queue_.handle));
    finish_and_check();
  }

 private:
  static constexpr cl_uint kCallbackPlace = 0;

  void write() {
    OrderedBuffer& buffer = random_buffer();
    const Part part = random_part(buffer);
    Bytes bytes = random_bytes(part.size);
    std::copy(bytes.begin(), bytes.end(), buffer.contents.begin() + static_cast<std::ptrdiff_t>(part.at));
    const Blocking blocking = one_in(6) ? Blocking::yes : Blocking::no;
    const std::span<const unsigned char> from(keep(buffer, std::move(bytes), {}), part.size);
    enqueue(random_queue(), {&buffer}, [&](auto queue, const auto& waits, auto event) {
      return cl().write(queue, buffer.handle, blocking, from, part.at, waits, event);
    });
  }

  void read() {
    OrderedBuffer& buffer = random_buffer();
    const Part part = random_part(buffer);
    const auto begin = buffer.contents.begin() + static_cast<std::ptrdiff_t>(part.at);
    const Blocking blocking = one_in(6) ? Blocking::yes : Blocking::no;
    const std::span into(
        keep(buffer, Bytes(part.size), Bytes(begin, begin + static_cast<std::ptrdiff_t>(part.size))),
        part.size);
    enqueue(random_queue(), {&buffer}, [&](auto queue, const auto& waits, auto event) {
      return cl().read(queue, buffer.handle, blocking, into, part.at, waits, event);
    });
    if (blocking == Blocking::yes) check_reads(buffer);
  }

  void fill() {
    OrderedBuffer& buffer = random_buffer();
    const Part part = random_words(buffer);
    const cl_uint pattern = random_();
    for (std::size_t i = 0; i < part.size; i += 4) std::memcpy(&buffer.contents[part.at + i], &pattern, 4);
    enqueue(random_queue(), {&buffer}, [&](auto queue, const auto& waits, auto event) {
      return cl().fill(queue, buffer.handle, pattern, part.size / sizeof pattern, part.at, waits, event);
    });
  }

  void copy() {
    const std::size_t from = below(kBuffers);
    OrderedBuffer& source = buffers_[from];
    OrderedBuffer& target = buffers_[(from + 1 + below(kBuffers - 1)) % kBuffers];
    const std::size_t size = random_size(std::min(source.contents.size(), target.contents.size()));
    std::memcpy(target.contents.data(), source.contents.data(), size);
    enqueue(random_queue(), {&source, &target}, [&](auto queue, const auto& waits, auto event) {
      return cl().copy(queue, source.handle, target.handle, size, 0, 0, waits, event);
    });
  }

  void launch() {
    OrderedBuffer& buffer = random_buffer();
    const std::size_t words = random_words(buffer).size / 4;
    const cl_uint n = random_();
    for (std::size_t i = 0; i < words; ++i) {
      cl_uint word = 0;
      std::memcpy(&word, &buffer.contents[i * 4], sizeof word);
      word += n;
      std::memcpy(&buffer.contents[i * 4], &word, sizeof word);
    }
    check(cl().set_arguments(add_, buffer.handle, n));
    // Of a local size: PoCL compiles a kernel anew for each that it chooses.
    enqueue(random_queue(), {&buffer}, [&](auto queue, const auto& waits, auto event) {
      return cl().launch(queue, add_, {words, 1}, waits, event);
    });
  }

  void map() {
    OrderedBuffer& buffer = random_buffer();
    const Part part = random_part(buffer);
    const bool writes = one_in(2);
    const cl_map_flags flags = !writes     ? CL_MAP_READ
                               : one_in(2) ? CL_MAP_WRITE
                                           : CL_MAP_WRITE_INVALIDATE_REGION;
    const cl_bool blocking = one_in(2) ? CL_TRUE : CL_FALSE;
    const OrderedQueue& queue = random_queue();
    unsigned char* mapped = nullptr;
    const SharedEvent event = enqueue(queue, {&buffer}, [&](auto raw, const auto& waits, auto out) {
      cl_int error = CL_SUCCESS;
      mapped = static_cast<unsigned char*>(cl().clEnqueueMapBuffer(raw, buffer.handle, blocking, flags,
                                                                   part.at, part.size, kit::Api::count(waits),
                                                                   kit::Api::list(waits), out, &error));
      return error;
    });
    if (blocking == CL_FALSE) check(event == nullptr ? cl().clFinish(queue.handle) : cl().wait({*event}));
    unsigned char* const contents = &buffer.contents[part.at];
    if (writes) {
      const Bytes bytes = random_bytes(part.size);
      std::copy(bytes.begin(), bytes.end(), contents);
      std::copy(bytes.begin(), bytes.end(), mapped);
    } else if (std::memcmp(mapped, contents, part.size) != 0) {
      work::fail("a map", "wrong data");
    }
    enqueue(random_queue(), {&buffer}, [&](auto raw, const auto& waits, auto out) {
      return cl().unmap(raw, buffer.handle, mapped, waits, out);
    });
  }

  void add_to_sum() {
    const auto place = static_cast<cl_uint>(1 + below(SharedContext::kSums - 1));
    const cl_uint n = random_() % 1000;
    const std::size_t items = 1 + below(100);
    shared_.expected_sums[place] += n * static_cast<cl_uint>(items);
    check(cl().set_arguments(add_to_sum_, shared_.sums, place, n));
    enqueue(random_queue(), {}, [&](auto queue, const auto& waits, auto event) {
      return cl().launch(queue, add_to_sum_, {items, 1}, waits, event);
    });
  }

  void launch_without_waiting() {
    const OrderedQueue& queue = random_queue();
    const std::size_t times = below(100);
    shared_.expected_sums[1] += static_cast<cl_uint>(times);
    check(cl().set_arguments(add_to_sum_, shared_.sums, cl_uint{1}, cl_uint{1}));
    for (std::size_t i = 0; i < times; ++i) check(cl().launch(queue.handle, add_to_sum_, {1}));
  }

  // A buffer that is released while it is in use.
  void use_temporary_buffer() {
    OrderedBuffer& target = random_buffer();
    const Part part = random_words(target);
    const cl_uint pattern = random_();
    const kit::Buffer temporary = cl().buffer(shared_.context, part.size);
    const OrderedQueue& queue = own_[below(2)];
    check(cl().fill(queue.handle, temporary, pattern, part.size / sizeof pattern));
    for (std::size_t i = 0; i < part.size; i += 4) std::memcpy(&target.contents[part.at + i], &pattern, 4);
    enqueue(queue, {&target}, [&](auto raw, const auto& waits, auto event) {
      return cl().copy(raw, temporary, target.handle, part.size, 0, part.at, waits, event);
    });
  }

  void wait_next_commands_for(SharedEvent event) {
    user_event_ = std::move(event);
    behind_user_event_ = 1 + below(6);
  }

  // The next commands wait for an event that another thread completes.
  void use_user_event() {
    wait_next_commands_for(shared_.user_event());
    shared_.user_events.add(user_event_);
  }

  void complete_a_user_event() { shared_.user_events.complete_one(); }

  void mark() {
    const OrderedQueue& queue = random_queue();
    if (one_in(2)) {
      enqueue(queue, {&random_buffer()},
              [&](auto raw, const auto& waits, auto event) { return cl().marker(raw, waits, event); });
    } else {
      enqueue(queue, {},
              [&](auto raw, const auto& waits, auto event) { return cl().barrier(raw, waits, event); });
    }
  }

  // The callback of a command's completion enqueues another command and completes a user event.
  struct Callback {
    Thread* thread;
    SharedEvent user_event;
  };
  static void CL_CALLBACK on_complete(cl_event, cl_int status, void* data) try {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
    if (status != CL_COMPLETE) work::fail("a callback", "status " + std::to_string(status));
    Thread& thread = *callback->thread;
    check(cl().launch(thread.callback_queue_.handle, thread.from_callback_, {1}));
    check(cl().clSetUserEventStatus(*callback->user_event, CL_COMPLETE));
    --thread.pending_callbacks_;
  } catch (const work::DeviceLost& lost) {
    work::fail(lost.call, "error " + std::to_string(lost.error));
  }

  void launch_in_callback() {
    const OrderedQueue& queue = random_queue();
    std::vector<SharedEvent> events;
    follow(queue, random_buffer().last_command, events);
    kit::Waits waits;
    for (const SharedEvent& one : events) waits.push_back(*one);
    const kit::Event marker = cl().marker_event(queue.handle, waits);
    const SharedEvent user_event = shared_.user_event();
    ++shared_.expected_sums[kCallbackPlace];
    ++pending_callbacks_;
    check(cl().clSetEventCallback(marker, CL_COMPLETE, &on_complete, new Callback{this, user_event}));
    flush(queue);
    wait_next_commands_for(user_event);
  }

  void flush_or_finish() {
    const OrderedQueue& queue = random_queue();
    check(one_in(2) ? cl().clFlush(queue.handle) : cl().clFinish(queue.handle));
  }

  // A few commands on each of very many queues, some of which are released at once.
  void use_many_queues() {
    const std::scoped_lock lock(shared_.many_queues);
    OrderedBuffer buffer = new_buffer(kManyQueues * kBytesEach);
    std::vector<OrderedQueue> queues;
    std::vector<kit::Event> ends;
    for (std::size_t i = 0; i < kManyQueues; ++i) queues.push_back(shared_.queue(one_in(16) ? 1 : 0, true));
    for (std::size_t i = 0; i < kManyQueues; ++i) {
      const std::size_t times = 1 + below(12);
      kit::Event event = cl().event();
      const bool waits = one_in(2);
      for (std::size_t j = 0; j < times; ++j) {
        const cl_uint pattern = random_();
        for (std::size_t at = 0; at < kBytesEach; at += 4)
          std::memcpy(&buffer.contents[i * kBytesEach + at], &pattern, sizeof pattern);
        check(cl().fill(queues[i].handle, buffer.handle, pattern, kBytesEach / sizeof pattern, i * kBytesEach,
                        {}, waits && j + 1 == times ? event.out() : nullptr));
      }
      if (!waits) continue;
      ends.push_back(std::move(event));
      if (one_in(2)) queues[i].handle.reset();
    }
    for (const OrderedQueue& one : queues) {
      if (one.handle) check(cl().clFinish(one.handle));
    }
    const kit::Waits list(ends.begin(), ends.end());
    const Bytes bytes = cl().read<unsigned char>(own_[below(own_.size())].handle, buffer.handle,
                                                 buffer.contents.size(), 0, list);
    if (bytes != buffer.contents) work::fail("many queues", "wrong data");
  }

  kit::Kernel add_;
  kit::Kernel add_to_sum_;
  kit::Kernel from_callback_;
  OrderedQueue callback_queue_;
  std::atomic<unsigned> pending_callbacks_{0};
};

std::uint32_t run_thread(SharedContext& shared, const Options& options, unsigned number) try {
  Thread thread(shared, options, number);
  for (std::size_t i = 0; i < options.steps && steady_clock::now() < options.until; ++i) thread.random_step();
  thread.finish_all();
  return thread.check_all();
} catch (const work::DeviceLost& lost) {
  work::fail(lost.call, "error " + std::to_string(lost.error));
}

void check_sums(const SharedContext& shared) {
  const auto sums = cl().read<cl_uint>(shared.queues[0].handle, shared.sums, SharedContext::kSums);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != shared.expected_sums[i]) work::fail("a sum", std::to_string(i));
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 4) return std::fputs("many_threads STEPS|SECONDSs SEED THREADS\n", stderr), 2;
  const std::string length = arguments[1];
  const bool timed = length.back() == 's';
  const std::size_t number = std::stoul(length);
  const Options options{
      timed ? SIZE_MAX : number,
      timed ? steady_clock::now() + std::chrono::seconds(number) : steady_clock::time_point::max(),
      static_cast<unsigned>(std::stoul(arguments[2])), static_cast<unsigned>(std::stoul(arguments[3]))};
  SharedContext shared;
  std::vector<std::uint32_t> sums(options.threads);
  kit::on_threads(options.threads,
                  [&](std::size_t i) { sums[i] = run_thread(shared, options, static_cast<unsigned>(i)); });
  check_sums(shared);
  std::printf("%u threads:", options.threads);
  for (const std::uint32_t sum : sums) timed ? 0 : std::printf(" %08x", sum);
  std::puts(" right");
  return 0;
} catch (const work::DeviceLost& lost) {
  std::fprintf(stderr, "%s: error %d\n", lost.call, lost.error);
  return 1;
}
