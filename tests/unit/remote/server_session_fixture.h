// A server's session on the simulated driver. The test plays the client, which sends frames and disconnects, and notes what the
// session asks of the driver.
#pragma once

#include <array>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "remote/protocol/frame.h"
#include "remote/protocol/verify.h"
#include "remote/server/worker/client_session.h"
#include "remote/transport/frames.h"
#include "tests/sim/driver_fixture.h"
#include "tests/unit/remote/memory_stream.h"

namespace cleave::remote::server {

inline constexpr std::uint64_t kQueueId = 1;
inline constexpr std::uint64_t kOtherQueueId = 2;
inline constexpr std::uint64_t kUnorderedQueueId = 3;
inline constexpr std::uint64_t kKernelId = 4;
inline constexpr std::uint64_t kNewEventId = 5;
inline constexpr std::uint64_t kBufferId = 6;
inline constexpr std::uint32_t kFinish = 7;  // the request of a FinishQueue
inline constexpr std::uint32_t kRead = 8;    // of reads
inline constexpr std::chrono::seconds kSendTimeout{20};

// For each launch, in order, whether its event was requested from the driver: 'e' or '-'.
inline std::string asked_for_events;
inline decltype(Table::clEnqueueNDRangeKernel) drivers_launch = nullptr;
inline cl_int CL_API_CALL noting_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                        const size_t* offset, const size_t* global, const size_t* local,
                                        cl_uint count, const cl_event* waits, cl_event* event) {
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
  // Of an element, an int, of the buffer.
  CommandsFrame& read(std::uint64_t element, std::uint64_t queue = kQueueId) {
    return add(wire::CreateReadBuffer(builder_, kBufferId, element * sizeof(cl_int), sizeof(cl_int)), queue,
               0, kRead);
  }
  // Of the buffer's beginning, through a ring in the shared memory, whose words are at its beginning. The client sends `later`
  // bytes that name slots behind the frame.
  CommandsFrame& read_through_ring(std::uint64_t size, const wire::Shared& slots, std::uint64_t slice,
                                   std::uint64_t later) {
    const auto body = wire::CreateReadBuffer(builder_, kBufferId, 0, size);
    const wire::Ring ring(0, slice);
    commands_.push_back(wire::CreateCommand(builder_, kRead, kQueueId, 0, 0, later, &slots,
                                            wire::Body::ReadBuffer, body.Union(), &ring));
    payload_ += later;
    return *this;
  }
  CommandsFrame& watch(std::uint64_t memory) {
    return add(wire::CreateWatchDestruction(builder_, memory), 0, 0, kFinish);
  }
  CommandsFrame& watch_event(std::uint64_t event) {
    return add(wire::CreateWatchEvent(builder_, event), 0, 0, kFinish);
  }
  CommandsFrame& create_context(std::uint64_t id, const std::vector<std::uint64_t>& devices) {
    return add(wire::CreateCreateContext(builder_, id, builder_.CreateVector(devices)), 0, 0, kFinish);
  }
  // `properties`: complete; null: NULL.
  CommandsFrame& create_context(std::uint64_t id, std::uint64_t device,
                                const std::vector<std::int64_t>* properties) {
    const auto list = properties == nullptr ? 0 : builder_.CreateVector(*properties);
    const auto devices = builder_.CreateVector(&device, 1);
    return add(wire::CreateCreateContext(builder_, id, devices, list, false, true), 0, 0, kFinish);
  }
  CommandsFrame& query_device(std::uint64_t device) {
    return add(wire::CreateQuery(builder_, wire::InfoSubject::device, device, 0, CL_DEVICE_NAME), 0, 0,
               kFinish);
  }
  CommandsFrame& ping() { return add(wire::CreatePing(builder_, 1)); }
  CommandsFrame& set_argument(std::int32_t value) {
    const auto bytes = builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
    return add(
        wire::CreateSetKernelArg(builder_, kKernelId, 1, sizeof value, wire::Argument::bytes, 0, bytes));
  }

  void write_to(Stream& stream) {
    builder_.Finish(wire::CreateCommands(builder_, builder_.CreateVector(commands_)));
    HeaderBytes header = encode(FrameHeader{FrameKind::commands, builder_.GetSize(), payload_});
    std::array<iovec, 2> parts{
        {{header.data(), header.size()}, {builder_.GetBufferPointer(), builder_.GetSize()}}};
    ASSERT_TRUE(stream.write(parts, kSendTimeout));
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
  std::uint64_t payload_ = 0;
};

// What the server has sent by the end of a session.
struct Report {
  std::uint64_t ended = 0;           // commands
  std::vector<cl_int> failures;      // of the queue
  std::vector<cl_int> finishes;      // their results, and those of reads
  std::vector<cl_int> elements;      // that were read
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

  // What a test's commands use besides the queues and the kernel.
  virtual void register_more(ObjectTable&) {}

  void register_queue(ObjectTable& objects, Outbox& outbox, PendingReads& reads, std::uint64_t id,
                      cl_command_queue handle) {
    const Queue::QueueInfo info{id, handle, id != kUnorderedQueueId, false};
    Object object{Kind::queue, handle};
    object.queue =
        std::make_shared<Queue>(table_, outbox, reads, info, Queue::ReportThresholds{1000, 1U << 20U});
    ASSERT_TRUE(objects.add(id, std::move(object)));
  }

  using Frames = std::vector<std::reference_wrapper<CommandsFrame>>;

  // Has a session execute the frames, which the client has sent before it disconnected.
  Report run(const Frames& frames) {
    MemoryStream from_client;
    return run(frames, from_client);
  }
  // The same, and what `from_client` has behind the frames.
  Report run(const Frames& frames, MemoryStream& from_client) {
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
    register_more(objects);
    FrameReader input(from_client, kSendTimeout);
    {
      ClientSession session(table_, table_, input, outbox, objects, {}, shared_, nullptr);
      EXPECT_EQ(session.run(), "disconnected");
      driver.run_until_idle();
      // What is reported on the worker thread uses the session.
      std::promise<void> reported;
      reads.run_on_worker([&] { reported.set_value(); });
      reported.get_future().wait();
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
        if (item->payload() == sizeof(cl_int)) {
          EXPECT_TRUE(
              input.read_payload(std::as_writable_bytes(std::span(&report.elements.emplace_back(), 1))));
        }
        if (const auto* completion = item->event_as_Completion())
          report.completions.push_back(completion->status());
      }
    }
    return report;
  }

  Report run(CommandsFrame& frame) { return run(Frames{frame}); }
  [[nodiscard]] cl_int runs() const { return read(buffer_, 1).at(0); }

  cl_command_queue other_;
  cl_command_queue unordered_;
  Table table_{};
  cl_mem buffer_ = nullptr;
  cl_kernel kernel_ = nullptr;
  const SharedMemory* shared_ = nullptr;  // with the client
};

using Errors = std::vector<cl_int>;

}  // namespace cleave::remote::server
