// A server's session on the simulated driver: which commands it asks the driver's events for, and how those without one end.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "remote/protocol/verify.h"
#include "remote/server/session/session.h"
#include "remote/transport/frames.h"
#include "tests/sim/driver_fixture.h"
#include "tests/unit/remote/memory_stream.h"

namespace cleave::remote::server {
namespace {

constexpr std::uint64_t kQueueId = 1;
constexpr std::uint64_t kOtherQueueId = 2;
constexpr std::uint64_t kUnorderedQueueId = 3;
constexpr std::uint64_t kKernelId = 4;
constexpr std::uint64_t kNewEventId = 5;
constexpr std::uint32_t kFinish = 7;  // the request of a FinishQueue
constexpr std::chrono::seconds kSendTimeout{20};

// For each launch, in order, whether the driver was asked for its event: 'e' or '-'.
std::string asked_for_events;
decltype(Table::clEnqueueNDRangeKernel) drivers_launch = nullptr;
cl_int CL_API_CALL noting_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t* offset,
                                 const size_t* global, const size_t* local, cl_uint count,
                                 const cl_event* waits, cl_event* event) {
  asked_for_events += event == nullptr ? '-' : 'e';
  return drivers_launch(queue, kernel, dims, offset, global, local, count, waits, event);
}

// The commands of one frame.
class CommandsFrame {
 public:
  CommandsFrame& launch(std::uint64_t queue = kQueueId, std::uint64_t event = 0,
                        const std::vector<std::uint64_t>& waits = {}) {
    const wire::Size3 one(1, 0, 0);
    return add(wire::CreateNDRange(builder_, kKernelId, 1, nullptr, &one), queue, event, 0, waits);
  }
  CommandsFrame& launches(unsigned count) {
    for (unsigned i = 0; i < count; ++i) launch();
    return *this;
  }
  CommandsFrame& finish(std::uint64_t queue = kQueueId) {
    return add(wire::CreateFinishQueue(builder_), queue, 0, kFinish);
  }
  CommandsFrame& ping() { return add(wire::CreatePing(builder_, 1)); }
  CommandsFrame& set_argument(std::int32_t value) {
    const auto bytes = builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
    return add(
        wire::CreateSetKernelArg(builder_, kKernelId, 1, sizeof value, wire::Argument::bytes, 0, bytes));
  }

  void write_to(Stream& stream) {
    builder_.Finish(wire::CreateCommands(builder_, builder_.CreateVector(commands_)));
    const std::span bytes(builder_.GetBufferPointer(), builder_.GetSize());
    ASSERT_TRUE(write_frame(stream, FrameKind::commands, std::as_bytes(bytes), {}, kSendTimeout));
  }

 private:
  template <typename Body>
  CommandsFrame& add(flatbuffers::Offset<Body> body, std::uint64_t queue = 0, std::uint64_t event = 0,
                     std::uint32_t request = 0, const std::vector<std::uint64_t>& waits = {}) {
    const auto list = builder_.CreateVector(waits);
    commands_.push_back(wire::CreateCommand(builder_, request, queue, event, list, 0, nullptr,
                                            wire::BodyTraits<Body>::enum_value, body.Union()));
    return *this;
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<wire::Command>> commands_;
};

// What the server has sent by the end of a session.
struct Report {
  std::uint64_t ended = 0;           // commands
  std::vector<cl_int> failures;      // of the queue
  std::vector<cl_int> finishes;      // their results
  std::vector<cl_int> completions;   // their events' states
  std::string events_of_launches{};  // asked_for_events
};

class ServerSession : public sim::DriverTest<> {
 protected:
  ServerSession() : other_(make_queue()), unordered_(make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)) {
    table_ = sim::Driver::table();
    drivers_launch = table_.clEnqueueNDRangeKernel;
    table_.clEnqueueNDRangeKernel = noting_launch;
    asked_for_events.clear();
    buffer_ = make_buffer({0});
    kernel_ = make_add(buffer_, 1);
  }

  void register_queue(ObjectTable& objects, Outbox& outbox, PendingReads& reads, std::uint64_t id,
                      cl_command_queue handle) {
    const Queue::QueueInfo info{id, handle, id != kUnorderedQueueId, false};
    Object object{Kind::queue, handle};
    object.queue =
        std::make_shared<Queue>(table_, outbox, reads, info, Queue::ReportThresholds{1000, 1U << 20U});
    ASSERT_TRUE(objects.add(id, std::move(object)));
  }

  // Has a session execute the frames, which the client has sent before it disconnected.
  Report run(const std::vector<std::reference_wrapper<CommandsFrame>>& frames) {
    MemoryStream from_client;
    MemoryStream to_client;
    for (CommandsFrame& frame : frames) frame.write_to(from_client);
    KernelOutput printed;
    Outbox outbox(to_client, printed, kSendTimeout, [] {});
    PendingReads reads(table_, outbox);
    ObjectTable objects;
    register_queue(objects, outbox, reads, kQueueId, queue);
    register_queue(objects, outbox, reads, kOtherQueueId, other_);
    register_queue(objects, outbox, reads, kUnorderedQueueId, unordered_);
    Object kernel{Kind::kernel, kernel_};
    kernel.kernel = std::make_shared<KernelState>();
    EXPECT_TRUE(objects.add(kKernelId, std::move(kernel)));
    FrameReader input(from_client, kSendTimeout);
    {
      ClientSession session(table_, table_, input, outbox, objects, {}, nullptr, nullptr);
      EXPECT_EQ(session.run(), "disconnected");
      driver.run_until_idle();
    }
    if (const auto event = objects.handle<cl_event>(kNewEventId); event != nullptr) cl.clReleaseEvent(event);
    EventsFrame last;
    outbox.send(last);
    return read_report(to_client);
  }

  static Report read_report(MemoryStream& sent) {
    Report report;
    report.events_of_launches = asked_for_events;
    FrameReader input(sent, kSendTimeout);
    for (FrameHeader header; input.next(header, kNoWait) == ReadStatus::data;) {
      const wire::Events* const events = verified_events(input.message(), header.payload);
      if (events == nullptr) break;
      report.ended = events->commands_ended();
      if (events->items() == nullptr) continue;
      for (const wire::Item* const item : *events->items()) {
        if (const auto* failure = item->event_as_Failure()) report.failures.push_back(failure->error());
        if (const auto* answer = item->event_as_Answer()) report.finishes.push_back(answer->error());
        if (const auto* completion = item->event_as_Completion())
          report.completions.push_back(completion->status());
      }
    }
    return report;
  }

  Report run(CommandsFrame& frame) { return run(std::vector<std::reference_wrapper<CommandsFrame>>{frame}); }
  [[nodiscard]] cl_int runs() const { return read(buffer_, 1).at(0); }

  cl_command_queue other_;
  cl_command_queue unordered_;
  Table table_{};
  cl_mem buffer_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

using Errors = std::vector<cl_int>;

TEST_F(ServerSession, LaunchesInARowEndWithTheLastOnesEvent) {
  const Report report = run(CommandsFrame().launches(10).finish());
  EXPECT_EQ(report.events_of_launches, "---------e");
  EXPECT_EQ(report.finishes, Errors{CL_SUCCESS});
  EXPECT_EQ(report.failures, Errors{});
  EXPECT_EQ(report.ended, 11U);
  EXPECT_EQ(runs(), 10);
}

TEST_F(ServerSession, ArgumentsAndPingsDoNotEndARow) {
  CommandsFrame frame;
  for (cl_int i = 0; i < 4; ++i) frame.set_argument(i).ping().launch();
  const Report report = run(frame);
  EXPECT_EQ(report.events_of_launches, "---e");
  EXPECT_EQ(report.ended, 4U);
  EXPECT_EQ(runs(), 0 + 1 + 2 + 3);
}

TEST_F(ServerSession, EachFrameEndsItsRow) {
  CommandsFrame first;
  CommandsFrame second;
  const Report report = run({first.launches(3), second.launches(2)});
  EXPECT_EQ(report.events_of_launches, "--e-e");
  EXPECT_EQ(report.ended, 5U);
}

TEST_F(ServerSession, LongRowHasAnEventNowAndThen) {
  const Report report = run(CommandsFrame().launches(600));
  EXPECT_EQ(report.events_of_launches,
            std::string(255, '-') + 'e' + std::string(255, '-') + 'e' + std::string(600 - 513, '-') + 'e');
  EXPECT_EQ(report.ended, 600U);
}

// What the client wants an event of, or what waits for one, may fail by itself.
TEST_F(ServerSession, CommandsWithEventsOfTheClientsEndARowBeforeThem) {
  const Report report = run(CommandsFrame()
                                .launches(2)
                                .launch(kQueueId, kNewEventId)
                                .launch(kQueueId, 0, {kNewEventId})
                                .launches(2));
  EXPECT_EQ(report.events_of_launches, "-eee-e");
  EXPECT_EQ(report.completions, Errors{CL_COMPLETE});
  EXPECT_EQ(report.ended, 6U);
}

TEST_F(ServerSession, QueuesTakeTurnsWithoutLongRows) {
  const Report report = run(CommandsFrame().launches(2).launch(kOtherQueueId).launches(2));
  EXPECT_EQ(report.events_of_launches, "-ee-e");
  EXPECT_EQ(report.ended, 5U);
}

TEST_F(ServerSession, EveryCommandOfAnOutOfOrderQueueHasAnEvent) {
  const Report report = run(CommandsFrame().launch(kUnorderedQueueId).launch(kUnorderedQueueId));
  EXPECT_EQ(report.events_of_launches, "ee");
}

// The driver accepts two launches without an event and then refuses the one that was to have one.
TEST_F(ServerSession, MarkerEndsARowWhoseLastCommandIsRefused) {
  driver.fail("clEnqueueNDRangeKernel", 3, CL_OUT_OF_RESOURCES);
  const Report report = run(CommandsFrame().launches(3).finish());
  EXPECT_EQ(report.events_of_launches, "--e");
  EXPECT_EQ(report.failures, Errors{CL_OUT_OF_RESOURCES});
  EXPECT_EQ(report.finishes, Errors{CL_SUCCESS});
  EXPECT_EQ(report.ended, 4U);
  EXPECT_EQ(runs(), 2);
}

TEST_F(ServerSession, RefusedMarkerIsAFailureOfItsRow) {
  driver.fail("clEnqueueNDRangeKernel", 3, CL_OUT_OF_RESOURCES);
  driver.fail("clEnqueueMarkerWithWaitList", 1, CL_OUT_OF_HOST_MEMORY);
  const Report report = run(CommandsFrame().launches(3).finish());
  EXPECT_EQ(report.failures, (Errors{CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY}));
  EXPECT_EQ(report.finishes, Errors{CL_SUCCESS});
  EXPECT_EQ(report.ended, 4U);
}

// In a driver whose queues go on failing, as NVIDIA's after a kernel's fault, the last launch speaks for all.
TEST_F(ServerSession, FailureOfARowsLastLaunchIsReportedOnce) {
  driver.fail_execution("add", 5, CL_OUT_OF_RESOURCES);
  const Report report = run(CommandsFrame().launches(5).finish());
  EXPECT_EQ(report.events_of_launches, "----e");
  EXPECT_EQ(report.failures, Errors{CL_OUT_OF_RESOURCES});
  EXPECT_EQ(report.finishes, Errors{CL_SUCCESS});
  EXPECT_EQ(report.ended, 6U);
}

}  // namespace
}  // namespace cleave::remote::server
