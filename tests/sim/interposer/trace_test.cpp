// The trace of launches and waits: what is in it, once and in order, and that the program notices nothing.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/turn_fixture.h"
#include "tests/unit/neighbours/fake_monitor.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

// One event of a trace, an object a line.
class Event {
 public:
  explicit Event(std::string line) : line_(std::move(line)) {}
  // The value of a key, whatever it stands in; empty if there is none. Strings come without their marks.
  std::string value(const std::string& key) const {
    const std::string mark = "\"" + key + "\":";
    const auto at = line_.find(mark);
    if (at == std::string::npos) return {};
    const auto begin = at + mark.size();
    if (line_[begin] == '"') return line_.substr(begin + 1, line_.find('"', begin + 1) - begin - 1);
    if (line_[begin] == '[') return line_.substr(begin, line_.find(']', begin) - begin + 1);
    return line_.substr(begin, line_.find_first_of(",}", begin) - begin);
  }
  double number(const std::string& key) const { return std::stod("0" + value(key)); }
  double begin() const { return number("ts"); }
  double end() const { return number("ts") + number("dur"); }
  bool is(const std::string& category) const { return value("cat") == category; }

 private:
  std::string line_;
};

class Trace : public testing::Test {
 protected:
  base::Settings traced(base::Settings settings = default_settings()) const {
    settings.trace = path_;
    return settings;
  }

  // What the file holds of one category; the whole file must be a JSON array, an event a line.
  std::vector<Event> events(const std::string& category = "") const {
    std::ifstream file(path_);
    std::vector<Event> found;
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "[");
    std::string before;
    while (std::getline(file, line)) {
      if (line == "]") break;
      EXPECT_TRUE(before.empty() || before.back() == ',') << before;
      EXPECT_EQ(line.front(), '{');
      before = line;
      if (category.empty() || Event(line).is(category)) found.emplace_back(line);
    }
    EXPECT_EQ(line, "]");
    EXPECT_FALSE(std::getline(file, line));
    return found;
  }

  std::vector<std::string> vm_counts() const {
    std::vector<std::string> counts;
    for (const Event& event : events()) {
      if (event.value("ph") == "C") counts.push_back(event.value("VMs"));
    }
    return counts;
  }

  std::size_t events_with(const std::string& key, const std::string& value) const {
    const auto all = events();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const Event& event) { return event.value(key) == value; }));
  }

 private:
  const kit::TemporaryFolder folder_;
  const std::string path_ = folder_.file("trace.json");
};

TEST_F(Trace, LaunchSlicesAndWaitAppearOnceAndInOrder) {
  {
    InterposerFixture fixture(traced());
    const cl_kernel kernel = fixture.make_kernel();
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  }
  const auto launches = events("launch");
  ASSERT_EQ(launches.size(), 1U);
  const Event& launch = launches[0];
  EXPECT_EQ(launch.value("name"), "add");
  EXPECT_EQ(launch.value("decision"), "split");
  EXPECT_EQ(launch.value("slices"), "20");
  EXPECT_EQ(launch.value("mode"), "queued");
  EXPECT_EQ(launch.value("vms"), "5");
  EXPECT_EQ(launch.value("global"), "[4096]");
  const auto slices = events("slice");
  ASSERT_EQ(slices.size(), 20U);
  double before = launch.begin();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(slices[i].number("slice"), static_cast<double>(i));
    EXPECT_GE(slices[i].begin(), before);
    EXPECT_GE(slices[i].number("dur"), 1.0) << "an enqueue takes a microsecond here";
    before = slices[i].end();
  }
  EXPECT_LE(before, launch.end());
  const auto waits = events("wait");
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].value("name"), "clFinish");
  EXPECT_GE(waits[0].begin(), launch.end());
  const auto busy = events("queue");
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_EQ(busy[0].value("launches"), "1");
  EXPECT_EQ(busy[0].begin(), launch.begin());
  EXPECT_GT(busy[0].end(), waits[0].begin());
  EXPECT_TRUE(events("device").empty()) << "without profiling there are no device times";
}

TEST_F(Trace, UnsplitLaunchesHaveAReasonAndNoSlices) {
  {
    InterposerFixture fixture(traced());
    const cl_kernel kernel = fixture.make_kernel();
    const std::size_t items = 16;
    ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {items, items}), CL_SUCCESS);
    const std::size_t bad = 0;
    EXPECT_NE(fixture.cl.clEnqueueNDRangeKernel(fixture.queue, kernel, 9, nullptr, &items, &bad, 0, nullptr,
                                                nullptr),
              CL_SUCCESS);
    ASSERT_EQ(fixture.cl.clEnqueueTask(fixture.queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
  }
  const auto launches = events("launch");
  ASSERT_EQ(launches.size(), 3U);
  EXPECT_EQ(launches[0].value("decision"), "unsplit");
  EXPECT_EQ(launches[0].value("why"), "small");
  EXPECT_EQ(launches[1].value("decision"), "");
  EXPECT_EQ(launches[1].value("error"), "-53");
  EXPECT_EQ(launches[2].value("why"), "one_group");
  EXPECT_EQ(launches[2].value("call"), "clEnqueueTask");
  EXPECT_TRUE(events("slice").empty());
}

TEST_F(Trace, RejectedSlicesAreAbsent) {
  {
    InterposerFixture fixture(traced());
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail("clEnqueueNDRangeKernel", 3, CL_OUT_OF_RESOURCES);
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(fixture.statistics().slices, 3U) << "two, and the rest in one";
    fixture.expect_each_item_ran(1);
  }
  EXPECT_EQ(events("slice").size(), 3U);
  EXPECT_EQ(events("launch")[0].value("slices"), "3");
}

TEST_F(Trace, VmCountIsACounterEventOnChange) {
  {
    InterposerFixture fixture(traced());
    const cl_kernel kernel = fixture.make_kernel();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  }
  EXPECT_EQ(vm_counts(), std::vector<std::string>{"5"});
}

TEST_F(Trace, VmCountFollowsItsSource) {
  neighbours::FakeMonitor monitor;
  {
    base::Settings settings = traced();
    settings.vms.reset();
    settings.monitor = monitor.address();
    InterposerFixture fixture(settings);
    const cl_kernel kernel = fixture.make_kernel();
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS) << "the monitor has not answered yet";
    kit::eventually([&] { return monitor.answer(); });
    monitor.say("cleave-monitor 1 heartbeat=2000\ncount 1 3 0\n");
    for (const unsigned vms : {3U, 5U}) {
      kit::eventually([&] { return interpose::interposer().neighbours.vms() == vms; });
      ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
      monitor.say("count 2 5 0\n");
    }
  }
  EXPECT_EQ(vm_counts(), (std::vector<std::string>{"1", "3", "5"}));
}

TEST_F(Trace, ConcurrentEventsAreComplete) {
  std::uint64_t slices = 0;
  {
    InterposerFixture fixture(traced(pipelined_settings()), concurrent_driver());
    const std::vector<cl_kernel> kernels = fixture.make_kernels(4);
    std::vector<cl_command_queue> queues;
    for (int t = 0; t < 4; ++t) queues.push_back(fixture.make_queue(CL_QUEUE_PROFILING_ENABLE));
    kit::on_threads(4, [&](std::size_t thread) {
      for (int i = 0; i < 3; ++i) {
        kit::Event event = fixture.cl.event();
        EXPECT_EQ(fixture.launch_on(queues[thread], kernels[thread], event.out()), CL_SUCCESS);
        EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
      }
      EXPECT_EQ(fixture.cl.clFinish(queues[thread]), CL_SUCCESS);
    });
    slices = InterposerFixture::statistics().slices;
    EXPECT_GT(slices, 12U);
  }
  EXPECT_EQ(events("launch").size(), 12U);
  EXPECT_EQ(events("slice").size(), slices);
  EXPECT_EQ(events("device").size(), slices + 12 - events_with("decision", "split"));
}

TEST_F(Trace, SequentialLaunchesShowTheirWaits) {
  {
    InterposerFixture fixture(kit::with(traced(), &base::Settings::launch, base::LaunchMode::sequential));
    ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  }
  EXPECT_EQ(events("slice").size(), 20U);
  EXPECT_EQ(events("wait").size(), 19U);
  EXPECT_EQ(events("launch")[0].value("mode"), "sequential");
}

TEST_F(Trace, SleepingWaitsRecordTheirSleepTime) {
  {
    InterposerFixture fixture(kit::with(traced(), &base::Settings::wait, base::WaitMode::sleeping));
    fixture.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(5ms); });
    kit::Event event = fixture.launch_event(fixture.make_kernel());
    EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
    EXPECT_EQ(event.reset(), CL_SUCCESS);
    fixture.read();
  }
  std::vector<std::string> how;
  for (const Event& event : events()) {
    if (event.value("ph") != "E") continue;
    how.push_back(event.value("how"));
    if (how.size() == 1) {
      EXPECT_GT(event.number("slept_us"), 50'000.0);
    }
  }
  EXPECT_EQ(how, (std::vector<std::string>{"sleeping", "sleeping"}));
  EXPECT_EQ(events("wait")[1].value("name"), "clEnqueueReadBuffer");
  EXPECT_EQ(events("queue").size(), 1U);
}

TEST_F(Trace, ProfilingPlacesSlicesAtDeviceTimes) {
  for (const bool wants_event : {false, true}) {
    // With events the device is one that has a timer, without them one that has none.
    sim::Options options = concurrent_driver();
    if (!wants_event) options.platform_version = "OpenCL 1.2 sim";
    std::vector<std::pair<double, double>> ran;
    ran.reserve(20);
    {
      InterposerFixture fixture(traced(pipelined_settings()), options, CL_QUEUE_PROFILING_ENABLE);
      make_slices_uneven(fixture);
      const cl_kernel kernel = fixture.make_kernel();
      kit::Event event = fixture.cl.event();
      ASSERT_EQ(fixture.launch(kernel, wants_event ? event.out() : nullptr), CL_SUCCESS);
      EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
      EXPECT_EQ(event.reset(), CL_SUCCESS);
      for (const auto& execution : fixture.driver.executions()) {
        ran.emplace_back(static_cast<double>(execution.started.count()) / 1000,
                         static_cast<double>(execution.ended.count()) / 1000);
      }
    }
    std::vector<std::pair<double, double>> traced_times;
    traced_times.reserve(20);
    for (const Event& event : events("device")) traced_times.emplace_back(event.begin(), event.end());
    std::sort(ran.begin(), ran.end());
    std::sort(traced_times.begin(), traced_times.end());
    ASSERT_EQ(traced_times.size(), 20U);
    EXPECT_EQ(events("device")[0].value("clock"), wants_event ? "timer" : "enqueue");
    ASSERT_EQ(ran.size(), 20U);
    for (std::size_t i = 0; i < ran.size(); ++i) {
      EXPECT_NEAR(traced_times[i].first, ran[i].first, 2.0);
      EXPECT_NEAR(traced_times[i].second, ran[i].second, 2.0);
    }
    // What runs on one queue is on one track, without overlaps.
    std::map<std::string, double> ends;
    auto by_time = events("device");
    std::sort(by_time.begin(), by_time.end(),
              [](const Event& a, const Event& b) { return a.begin() < b.begin(); });
    for (const Event& event : by_time) {
      EXPECT_GE(event.begin(), ends[event.value("tid")] - 0.0005);
      ends[event.value("tid")] = event.end();
    }
    EXPECT_GE(ends.size(), 2U);
  }
}

TEST_F(Trace, UnsplitLaunchesHaveDeviceTimes) {
  {
    InterposerFixture fixture(kit::with(traced(), &base::Settings::vms, 1), default_driver(),
                              CL_QUEUE_PROFILING_ENABLE);
    const cl_kernel kernel = fixture.make_kernel();
    const kit::Event event = fixture.launch_event(kernel);
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    for (int i = 0; i < 2; ++i) static_cast<void>(fixture.cl.profiled(event, CL_PROFILING_COMMAND_END));
  }
  EXPECT_EQ(events("device").size(), 2U);
}

TEST_F(Trace, DoesNotKeepTheCallersEvents) {
  InterposerFixture fixture(traced(), default_driver(), CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel kernel = fixture.make_kernel();
  const auto count = [&](cl_event event) {
    cl_uint references = 0;
    EXPECT_EQ(sim::Driver::table().clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references,
                                                  &references, nullptr),
              CL_SUCCESS);
    return references;
  };
  cl_event event = nullptr;
  ASSERT_EQ(fixture.launch(kernel, &event), CL_SUCCESS);
  EXPECT_EQ(count(event), 1U);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_EQ(count(event), 1U);
  EXPECT_EQ(fixture.cl.clReleaseEvent(event), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.id(event), 0U) << "it is gone";
}

// It is given away between two slices of a launch, and in the end by a thread of ours.
TEST_F(Trace, TurnsAreSpansOnARowOfTheirDevice) {
  const kit::TemporaryFolder folder;
  {
    InterposerFixture fixture(traced(in_turns(folder.path())));
    base::ForkLocks forks;
    turns::Turns other(forks, beside(folder.path(), fixture.driver));
    const auto someone = [&](bool turns::ParticipantReport::*does) {
      const auto all = other.snapshot();
      return std::any_of(all.begin(), all.end(), [does](const auto& each) { return each.*does; });
    };
    std::string problem;
    ASSERT_TRUE(other.enter(problem)) << problem;
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.cost("add", [](const sim::Launch& launch) {
      return base::Nanoseconds(1'000) * static_cast<int>(launch.global[0]);
    });
    std::jthread neighbour;
    std::atomic<int> slices{0};
    fixture.driver.kernel("add", [&](sim::Execution&) {
      if (++slices != 5) return;
      neighbour = std::jthread([&] {
        EXPECT_TRUE(other.begin());
        other.end();
      });
      EXPECT_TRUE(kit::eventually([&] { return someone(&turns::ParticipantReport::waits); }));
    });
    EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
    neighbour.join();
    EXPECT_TRUE(kit::eventually([&] {
      fixture.driver.clock().sleep_for(1s);
      return !someone(&turns::ParticipantReport::holds);
    }));
  }
  const auto spans = events("turn");
  ASSERT_EQ(spans.size(), 3U);
  for (const Event& hold : {spans[0], spans[2]}) {
    EXPECT_EQ(hold.value("name"), "has the device");
    EXPECT_GT(hold.number("dur"), 0.0);
  }
  EXPECT_EQ(spans[0].value("ended"), "others should have it");
  EXPECT_EQ(spans[1].value("name"), "wait for the device");
  constexpr double kRounding = 0.01;
  EXPECT_NEAR(spans[1].begin(), spans[0].end(), kRounding);
  EXPECT_NEAR(spans[2].begin(), spans[1].end(), kRounding);
  EXPECT_EQ(spans[2].value("ended"), "nothing to do");
  const auto launches = events("launch");
  ASSERT_EQ(launches.size(), 1U);
  for (const Event& span : spans) {
    EXPECT_EQ(span.value("launch"), launches[0].value("launch"));
    EXPECT_GE(span.number("tid"), static_cast<double>(observe::kOwnTracks));
    EXPECT_EQ(span.value("tid"), spans[0].value("tid"));
  }
  EXPECT_GE(launches[0].end(), spans[1].end());
  const auto all = events();
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [&](const Event& each) {
                            return each.value("ph") == "M" && each.value("tid") == spans[0].value("tid");
                          }),
            1)
      << "the row has one name";
}

// A driver sees the same calls, whether there is a trace or not, where there is no profiling.
TEST_F(Trace, MakesNoQueriesWithoutProfiling) {
  std::vector<std::vector<std::string>> calls;
  for (const bool with : {false, true}) {
    InterposerFixture fixture(with ? traced(pipelined_settings()) : pipelined_settings(),
                              concurrent_driver());
    const cl_kernel kernel = fixture.make_kernel();
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);  // the queue's name is asked for once
    fixture.driver.forget();
    kit::Event event = fixture.launch_event(kernel);
    EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    EXPECT_EQ(event.reset(), CL_SUCCESS);
    calls.emplace_back();
    for (const auto& call : fixture.driver.log()) calls.back().push_back(call.function + call.arguments);
  }
  EXPECT_EQ(calls[0], calls[1]);
}

}  // namespace
}  // namespace cleave
