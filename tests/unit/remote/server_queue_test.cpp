// A server queue on a driver whose commands end when the test decides.
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "remote/protocol/verify.h"
#include "remote/server/memory/staging.h"
#include "remote/server/queues/queue.h"
#include "remote/transport/frames.h"
#include "remote/transport/ring_slots.h"

namespace cleave::remote::server {
namespace {

constexpr std::chrono::seconds kPatience{20};

// The driver: events that have ended or not, and how often one was waited for.
std::mutex driver_mutex;
std::condition_variable driver_changed;
unsigned driver_waits = 0;

struct Event {
  cl_int status = CL_SUBMITTED;
  std::vector<Event*> end_behind;  // those that end as soon as this one is queried
  [[nodiscard]] cl_event handle() { return reinterpret_cast<cl_event>(this); }
  void end(cl_int with = CL_COMPLETE) {
    const std::scoped_lock lock(driver_mutex);
    status = with;
    driver_changed.notify_all();
  }
};

Event& event_of(cl_event handle) { return *reinterpret_cast<Event*>(handle); }

cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info, size_t, void* value, size_t*) {
  const std::scoped_lock lock(driver_mutex);
  *static_cast<cl_int*>(value) = event_of(event).status;
  for (Event* const one : event_of(event).end_behind) one->status = CL_COMPLETE;
  return CL_SUCCESS;
}
cl_int CL_API_CALL wait_for_events(cl_uint, const cl_event* events) {
  std::unique_lock lock(driver_mutex);
  ++driver_waits;
  driver_changed.notify_all();
  driver_changed.wait(lock, [&] { return event_of(*events).status <= CL_COMPLETE; });
  return CL_SUCCESS;
}
cl_int CL_API_CALL release_event(cl_event) { return CL_SUCCESS; }

// The callback at an event's end, and the thread that released a queue.
std::function<void()> driver_calls;
std::optional<std::thread::id> given_back_by;
cl_int CL_API_CALL set_event_callback(cl_event event, cl_int,
                                      void(CL_CALLBACK* call)(cl_event, cl_int, void*), void* data) {
  const std::scoped_lock lock(driver_mutex);
  driver_calls = [=] { call(event, CL_COMPLETE, data); };
  return CL_SUCCESS;
}
cl_int CL_API_CALL release_queue(cl_command_queue) {
  const std::scoped_lock lock(driver_mutex);
  given_back_by = std::this_thread::get_id();
  driver_changed.notify_all();
  return CL_SUCCESS;
}
bool is_given_back(std::chrono::seconds patience = std::chrono::seconds(0)) {
  std::unique_lock lock(driver_mutex);
  return driver_changed.wait_for(lock, patience, [] { return given_back_by.has_value(); });
}

unsigned waits() {
  const std::scoped_lock lock(driver_mutex);
  return driver_waits;
}

bool is_waited_for() {
  std::unique_lock lock(driver_mutex);
  return driver_changed.wait_for(lock, kPatience, [] { return driver_waits > 0; });
}

class ServerQueue : public testing::Test {
 protected:
  ServerQueue() {
    driver_waits = 0;
    given_back_by.reset();
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = make_socket_stream(ends[0]);
    theirs_ = make_socket_stream(ends[1]);
    input_ = std::make_unique<FrameReader>(*theirs_, kPatience);
    outbox_ = std::make_unique<Outbox>(*ours_, printed_, kPatience, [] {});
    table_.clGetEventInfo = get_event_info;
    table_.clWaitForEvents = wait_for_events;
    table_.clReleaseEvent = table_.clRetainEvent = release_event;
    table_.clSetEventCallback = set_event_callback;
    table_.clReleaseCommandQueue = release_queue;
    reads_ = std::make_unique<PendingReads>(table_, *outbox_);
    queue_ = new_queue(2, true);
  }
  // A queue's watcher may ask for a command's event until the queue has stopped, so the events live longer.
  ~ServerQueue() override {
    for (const auto& queue : queues_) {
      queue->stop_when_idle();
      queue->wait_until_stopped();
    }
  }

  Event& new_event() { return events_.emplace_back(); }
  std::vector<Event*> new_events(std::size_t count) {
    std::vector<Event*> events;
    for (std::size_t i = 0; i < count; ++i) events.push_back(&new_event());
    return events;
  }

  std::shared_ptr<Queue> new_queue(std::uint64_t id, bool in_order) {
    const Queue::QueueInfo info{.id = id, .handle = nullptr, .in_order = in_order, .profiling = false};
    const Queue::ReportThresholds thresholds{1000, 1U << 20U};
    return queues_.emplace_back(std::make_shared<Queue>(table_, *outbox_, *reads_, info, thresholds));
  }

  std::shared_ptr<Queue> another(std::uint64_t id) { return new_queue(id, true); }
  std::shared_ptr<Queue> out_of_order(std::uint64_t id) { return new_queue(id, false); }

  Pending pending_of(Event& event, std::uint32_t request = 0) {
    Pending pending;
    pending.event = EventReference(table_, event.handle());
    pending.request = request;
    return pending;
  }

  void add_read(Queue& queue, Event& event, std::uint32_t request) {
    Pending pending = pending_of(event, request);
    pending.is_read = true;
    pending.data = staging_.take(4);
    queue.add(std::move(pending), Queue::WaitedBy::by_caller);
  }

  void add(Event& event, std::uint32_t request, Queue::WaitedBy waited_by = Queue::WaitedBy::by_caller) {
    queue_->add(pending_of(event, request), waited_by);
  }

  // The numbers and errors of the next frame's answers.
  std::vector<std::pair<std::uint32_t, cl_int>> next_answers() {
    FrameHeader header;
    std::vector<std::pair<std::uint32_t, cl_int>> answers;
    if (input_->next(header, std::chrono::steady_clock::now() + kPatience) != ReadStatus::data)
      return answers;
    const wire::Events* const events = verified_events(input_->message(), header.payload);
    for (const wire::Item* const item : *events->items()) {
      const wire::Answer& answer = *item->event_as_Answer();
      answers.emplace_back(answer.request(), answer.error());
    }
    input_->skip_payload(header.payload);
    return answers;
  }

  using Answers = std::vector<std::pair<std::uint32_t, cl_int>>;
  Table table_{};
  KernelOutput printed_;
  std::unique_ptr<Stream> ours_;
  std::unique_ptr<Stream> theirs_;
  std::unique_ptr<FrameReader> input_;
  std::unique_ptr<Outbox> outbox_;
  Staging staging_{1U << 20U};
  std::unique_ptr<PendingReads> reads_;
  std::deque<Event> events_;
  std::vector<std::shared_ptr<Queue>> queues_;
  std::shared_ptr<Queue> queue_;
};

const auto kNobodyCalls = [] { return false; };
const auto kSomebodyCalls = [] { return true; };

TEST_F(ServerQueue, ShortCommandsAreReportedByThePollingThread) {
  if (std::thread::hardware_concurrency() == 1) GTEST_SKIP() << "there is no polling thread on one processor";
  Event& first = new_event();
  Event& second = new_event();
  add(first, 1);
  add(second, 2);
  first.end();
  second.end(CL_OUT_OF_RESOURCES);
  queue_->poll_awaited(kNobodyCalls);
  EXPECT_EQ(next_answers(), (Answers{{1, CL_SUCCESS}, {2, CL_OUT_OF_RESOURCES}}));
  EXPECT_EQ(waits(), 0U);
}

// A program knows of the finish that it came after the read: it waited for an event behind it.
TEST_F(ServerQueue, DataPrecedesCompletionsOfOtherQueues) {
  Event& read = new_event();
  Event& pending_read = new_event();
  add_read(*queue_, read, 1);
  add_read(*queue_, pending_read, 2);
  read.end();
  const auto other = another(3);
  EXPECT_EQ(other->finish(7), CL_SUCCESS);
  EXPECT_EQ(next_answers(), (Answers{{1, CL_SUCCESS}})) << "and not the one that is under way";
  EXPECT_EQ(next_answers(), (Answers{{7, CL_SUCCESS}}));
  pending_read.end(CL_OUT_OF_RESOURCES);
  queue_->resume_watcher();
  EXPECT_EQ(next_answers(), (Answers{{2, CL_OUT_OF_RESOURCES}})) << "once, and with its error";
  other->stop_when_idle();
  queue_->stop_when_idle();
  queue_->wait_until_stopped();
  EXPECT_FALSE(reads_->has_unsent());
}

// Of two reads the second waited for the first. Both end between the questions whether they have.
TEST_F(ServerQueue, ReadFinishingDuringAPollPrecedesItsDependents) {
  for (const bool same_queue : {true, false}) {
    Event& first = new_event();
    Event& second = new_event();
    first.end_behind = {&first, &second};
    const auto other = another(3);
    add_read(*queue_, first, 1);
    add_read(same_queue ? *queue_ : *other, second, 2);
    const auto third = another(4);
    EXPECT_EQ(third->finish(7), CL_SUCCESS);
    for (const auto& queue : {queue_, other}) queue->resume_watcher();
    std::vector<std::uint32_t> reported;
    while (reported.size() < 3) {
      const Answers some = next_answers();
      ASSERT_FALSE(some.empty());
      for (const auto& answer : some) reported.push_back(answer.first);
    }
    std::erase(reported, 7U);
    EXPECT_EQ(reported, (std::vector<std::uint32_t>{1, 2})) << same_queue;
  }
}

TEST_F(ServerQueue, ReadsAlwaysPrecedeTheirDependents) {
  const std::vector<Event*> events = new_events(40);
  for (std::uint32_t i = 0; i < events.size(); ++i) add_read(*queue_, *events[i], i + 1);
  Event& behind = new_event();
  const auto other = another(3);
  add_read(*other, behind, 99);
  for (Event* const event : events) event->end();
  behind.end();
  const auto third = another(4);
  EXPECT_EQ(third->finish(7), CL_SUCCESS);
  const Answers answers = next_answers();
  EXPECT_EQ(answers.size(), events.size() + 1);
  EXPECT_EQ(answers.back(), (std::pair<std::uint32_t, cl_int>{99, CL_SUCCESS}));
}

// The same if the first queue itself reports.
TEST_F(ServerQueue, ReadsOfOneQueuePrecedeTheirDependents) {
  Event& first = new_event();
  Event& second = new_event();
  const auto other = another(3);
  add_read(*queue_, first, 1);
  add_read(*other, second, 2);
  first.end();
  second.end();
  queue_->resume_watcher();
  Answers answers = next_answers();
  if (answers.size() == 1) answers.push_back(next_answers().at(0));
  EXPECT_EQ(answers, (Answers{{1, CL_SUCCESS}, {2, CL_SUCCESS}}));
}

// The driver does not say so.
// A driver may not call back at the end of a command, or late.
TEST_F(ServerQueue, ReportedCommandReturnsItsSlot) {
  for (const cl_int status : {CL_COMPLETE, CL_OUT_OF_RESOURCES}) {
    std::uint32_t word = 0;
    return_slot(word);
    give_slot(word);
    Event& event = new_event();
    Pending pending = pending_of(event, 1);
    const auto slot = std::make_shared<RingSlot>(word);
    pending.slot = slot;
    queue_->add(std::move(pending));
    ASSERT_EQ(queue_->finish(7, Queue::WaitedBy::by_caller), CL_SUCCESS);
    event.end(status);
    queue_->resume_watcher();
    std::size_t answers = 0;
    while (answers < 2) {
      const std::size_t more = next_answers().size();
      ASSERT_NE(more, 0U);
      answers += more;
    }
    EXPECT_TRUE(is_returned(word));
    give_slot(word);  // the client uses it anew
    slot->return_once();
    EXPECT_FALSE(is_returned(word)) << "the driver has called after all";
  }
}

// Only the first waits for what the client's command waits for, and a driver may run the others though it has
// failed.
TEST_F(ServerQueue, FailureOfTheFirstPartAppliesToAllParts) {
  for (const bool is_read : {true, false}) {
    Event& first = new_event();
    Event& last = new_event();
    for (Event* const one : {&first, &last}) {
      Pending pending = pending_of(*one, is_read || one == &last ? 1 : 0);
      pending.is_read = is_read;
      pending.more = is_read && one == &first;
      pending.ends = one == &last;
      if (one == &last) pending.first = EventReference(table_, first.handle());
      if (is_read) pending.data = staging_.take(4);
      queue_->add(std::move(pending), Queue::WaitedBy::by_caller);
    }
    first.end(CL_OUT_OF_RESOURCES);
    last.end();
    queue_->resume_watcher();
    Answers answers;
    while (answers.empty() || (is_read && answers.size() < 2)) {
      const Answers some = next_answers();
      if (some.empty() && is_read) FAIL() << "no answer";
      answers.insert(answers.end(), some.begin(), some.end());
    }
    for (const auto& answer : answers) EXPECT_EQ(answer.second, CL_OUT_OF_RESOURCES) << is_read;
  }
}

// More than a client takes in one frame.
TEST_F(ServerQueue, ManyFailuresAreSentInSeveralFrames) {
  const std::vector<Event*> events = new_events(std::size_t{kMaxCommands} + 1);
  for (Event* const event : events) {
    event->end(CL_OUT_OF_RESOURCES);
    add(*event, 0);
  }
  ASSERT_EQ(queue_->finish(7, Queue::WaitedBy::by_caller), CL_SUCCESS);
  queue_->resume_watcher();
  std::size_t reported = 0;
  while (reported < events.size() + 1) {
    FrameHeader header;
    ASSERT_EQ(input_->next(header, std::chrono::steady_clock::now() + kPatience), ReadStatus::data);
    const wire::Events* const some = verified_events(input_->message(), header.payload);
    ASSERT_NE(some, nullptr);
    reported += some->items()->size();
  }
  EXPECT_EQ(reported, events.size() + 1);
}

TEST_F(ServerQueue, LongCommandsAreLeftToTheWatcher) {
  Event& event = new_event();
  add(event, 1);
  queue_->poll_awaited(kNobodyCalls);
  ASSERT_TRUE(is_waited_for());
  event.end();
  EXPECT_EQ(next_answers(), (Answers{{1, CL_SUCCESS}}));
}

TEST_F(ServerQueue, InterruptedPollHandsOverToTheWatcherInOrder) {
  const std::vector<Event*> events = new_events(5);
  for (std::uint32_t i = 0; i < events.size(); ++i) add(*events[i], i + 1);
  queue_->poll_awaited(kSomebodyCalls);
  ASSERT_TRUE(is_waited_for());
  for (Event* const event : events) event->end();
  Answers answers;
  while (answers.size() < events.size()) {
    const Answers some = next_answers();
    ASSERT_FALSE(some.empty());
    answers.insert(answers.end(), some.begin(), some.end());
  }
  EXPECT_EQ(answers, (Answers{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}}));
}

TEST_F(ServerQueue, CommandsOfTheWatcherStayWithIt) {
  Event& first = new_event();
  Event& second = new_event();
  add(first, 1, Queue::WaitedBy::by_watcher);
  ASSERT_TRUE(is_waited_for());
  add(second, 2);
  second.end();
  queue_->poll_awaited(kNobodyCalls);
  first.end();
  EXPECT_EQ(next_answers().front(), (std::pair<std::uint32_t, cl_int>{1, CL_SUCCESS}));
}

TEST_F(ServerQueue, FinishCompletesAfterEarlierCommands) {
  Event& launch = new_event();
  add(launch, 0);
  ASSERT_EQ(queue_->finish(7, Queue::WaitedBy::by_caller), CL_SUCCESS);
  queue_->poll_awaited(kSomebodyCalls);
  ASSERT_TRUE(is_waited_for());
  launch.end();
  EXPECT_EQ(next_answers(), (Answers{{7, CL_SUCCESS}}));
}

TEST_F(ServerQueue, UnawaitedCommandKeepsItsMemoryUntilItEnds) {
  Event& event = new_event();
  Pending pending = pending_of(event);
  pending.data = staging_.take(1U << 20U);
  queue_->add(std::move(pending));
  queue_->stop_when_idle();
  Queue& queue = *queue_;
  const auto kept = std::move(queue_);
  ASSERT_TRUE(is_waited_for());
  EXPECT_FALSE(staging_.take(1U << 20U));
  event.end();
  queue.wait_until_stopped();
  EXPECT_TRUE(staging_.take(1U << 20U));
}

// A driver may block the thread that releases a queue until its commands have ended. Here that would be the thread
// that reads what they wait for.
TEST_F(ServerQueue, DriverQueueIsReleasedAfterItsLastCommand) {
  Event& event = new_event();
  add(event, 0);
  queue_->release_when_idle();
  ASSERT_TRUE(is_waited_for());
  EXPECT_FALSE(is_given_back());
  event.end();
  EXPECT_TRUE(is_given_back(kPatience));
  queue_->wait_until_stopped();
}

TEST_F(ServerQueue, IdleDriverQueueIsReleasedAtOnce) {
  queue_->release_when_idle();
  EXPECT_TRUE(is_given_back());
  given_back_by.reset();
  out_of_order(3)->release_when_idle();
  EXPECT_TRUE(is_given_back());
}

TEST_F(ServerQueue, OutOfOrderQueueIsNotReleasedInADriverCallback) {
  const auto queue = out_of_order(3);
  Event& event = new_event();
  queue->add(pending_of(event));
  queue->release_when_idle();
  EXPECT_FALSE(is_given_back());
  event.end();
  driver_calls();
  ASSERT_TRUE(is_given_back(kPatience));
  EXPECT_NE(*given_back_by, std::this_thread::get_id());
}

}  // namespace
}  // namespace cleave::remote::server
