// A server's session on the simulated driver: for which commands it requests events from the driver, and how those without one end.
#include <cstring>

#include "tests/unit/remote/server_session_fixture.h"

namespace cleave::remote::server {
namespace {

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

// What a driver keeps of a list is not counted, and a message has room for half a million devices.
class ListingSession : public ServerSession {
 protected:
  static constexpr std::uint64_t kDeviceId = 40;
  void register_more(ObjectTable& table) override {
    EXPECT_TRUE(table.add(kDeviceId, {Kind::device, device}));
  }
};

TEST_F(ListingSession, DriverGetsNoLongListsOfDevices) {
  static std::vector<cl_uint> sizes;
  sizes.clear();
  table_.clCreateContext = [](const cl_context_properties*, cl_uint count, const cl_device_id*,
                              void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*,
                              cl_int* error) -> cl_context {
    sizes.push_back(count);
    *error = CL_OUT_OF_RESOURCES;
    return nullptr;
  };
  CommandsFrame frame;
  std::uint64_t id = 50;
  for (const std::size_t count :
       {std::size_t{2}, SessionContext::kMostListedDevices + 1, std::size_t{400'000}})
    frame.create_context(id++, std::vector<std::uint64_t>(count, kDeviceId));
  EXPECT_EQ(run(frame).finishes, (Errors{CL_OUT_OF_RESOURCES, CL_INVALID_DEVICE, CL_INVALID_DEVICE}));
  EXPECT_EQ(sizes, std::vector<cl_uint>{2});
}

// What the specification forbids some drivers accept, but none sees a handle or an address of the client's.
TEST_F(ListingSession, DriverJudgesThePropertiesOfAContext) {
  static std::vector<std::vector<cl_context_properties>> seen;
  seen.clear();
  table_.clCreateContext = [](const cl_context_properties* list, cl_uint, const cl_device_id*,
                              void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*,
                              cl_int* error) -> cl_context {
    auto& all = seen.emplace_back();
    for (; list != nullptr && *list != 0; list += 2) all.insert(all.end(), list, list + 2);
    if (list != nullptr) all.push_back(0);
    *error = CL_INVALID_PLATFORM;
    return nullptr;
  };
  cl_platform_id handle = nullptr;
  cl.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof handle, static_cast<void*>(&handle), nullptr);
  const auto platform = reinterpret_cast<cl_context_properties>(handle);
  const std::vector<std::vector<std::int64_t>> lists{{},
                                                     {CL_CONTEXT_PLATFORM, 1, CL_CONTEXT_PLATFORM, 0},
                                                     {0x7777, 65535},
                                                     {0x7777, 65536},
                                                     {0x7777, -1},
                                                     {0x2008, 1}};
  CommandsFrame frame;
  std::uint64_t id = 50;
  frame.create_context(id++, kDeviceId, nullptr);
  for (const auto& list : lists) frame.create_context(id++, kDeviceId, &list);
  frame.create_context(id++, std::vector<std::uint64_t>{kDeviceId});  // of an older client
  EXPECT_EQ(run(frame).finishes,
            (Errors{CL_INVALID_PLATFORM, CL_INVALID_PLATFORM, CL_INVALID_PLATFORM, CL_INVALID_PLATFORM,
                    CL_INVALID_PROPERTY, CL_INVALID_PROPERTY, CL_INVALID_PROPERTY, CL_INVALID_PLATFORM}));
  const std::vector<std::vector<cl_context_properties>> expected{
      {},
      {0},
      {CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_PLATFORM, 0, 0},
      {0x7777, 65535, 0},
      {CL_CONTEXT_PLATFORM, platform, 0}};
  EXPECT_EQ(seen, expected);
}

// A client accepts no longer messages, and the server keeps no more than that before it sends.
TEST_F(ListingSession, AnswersOfOneFrameAreSentInSeveral) {
  table_.clGetDeviceInfo = [](cl_device_id, cl_device_info, size_t size, void* value, size_t* needed) {
    constexpr std::size_t kLong = std::size_t{1} << 20U;
    if (needed != nullptr) *needed = kLong;
    if (value != nullptr) std::memset(value, 'x', size);
    return CL_SUCCESS;
  };
  CommandsFrame frame;
  for (int i = 0; i < 16; ++i) frame.query_device(kDeviceId);
  EXPECT_EQ(run(frame).finishes, Errors(16, CL_SUCCESS));
}

// Each registration at the driver costs memory until the object ends, and one is enough.
class WatchingSession : public ServerSession {
 protected:
  void register_more(ObjectTable& table) override {
    EXPECT_TRUE(table.add(kBufferId, {Kind::memory, buffer_, sizeof(cl_int)}));
    EXPECT_TRUE(table.add(kNewEventId, {Kind::event, cl.clCreateUserEvent(context, nullptr)}));
  }
};

TEST_F(WatchingSession, ObjectIsWatchedOnceHoweverOftenTheClientAsks) {
  static unsigned watches;
  static unsigned event_watches;
  watches = event_watches = 0;
  table_.clSetMemObjectDestructorCallback = [](cl_mem memory, void(CL_CALLBACK * function)(cl_mem, void*),
                                               void* data) {
    ++watches;
    function(memory, data);
    return CL_SUCCESS;
  };
  table_.clSetEventCallback = [](cl_event event, cl_int status,
                                 void(CL_CALLBACK * function)(cl_event, cl_int, void*), void* data) {
    ++event_watches;
    function(event, status, data);
    return CL_SUCCESS;
  };
  CommandsFrame frame;
  for (int i = 0; i < 5; ++i) frame.watch(kBufferId).watch_event(kNewEventId);
  const Report report = run(frame);
  EXPECT_EQ(report.finishes, Errors(10, CL_SUCCESS));
  EXPECT_EQ(watches, 1U);
  EXPECT_EQ(event_watches, 2U) << "one for each state";
}

}  // namespace
}  // namespace cleave::remote::server
