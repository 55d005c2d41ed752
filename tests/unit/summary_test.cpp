#include "observe/summary.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/threads.h"

namespace cleave::observe {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

SummaryContext summary_context() {
  SummaryContext result;
  result.vms = 5;
  result.neighbours = {"monitor", "known", 2, 7};
  result.waits = {3, std::chrono::milliseconds(1500)};
  result.policy = "alpha";
  result.turns.devices = {{"GPU", "turns-1", "joined", "", 3, 2, 0, 1500us, 1200us, 4ms},
                          {"other", "turns-2", "impossible", "cannot open it", 0, 0, 0, 0ns, 0ns, 0ns}};
  result.turns.devices[0].capped = 200us;
  result.turns.devices[0].waited_for = {{"alice", 0, 1ms}};
  result.tenant = "bob";
  result.memory = {{"GPU", 100, 300, 1000, 2}};
  result.turns.exempt = {{"user_event", 1}, {"queue", 0}};
  result.reasons = {"policy",    "denied", "alone",         "one_group", "small",
                    "binary",    "kernel", "shape",         "shared",    "recorded",
                    "measuring", "costly", "below_quantum", "remote",    "resident"};
  std::fill(result.reasons.begin() + 15, result.reasons.end(), "driver");
  result.queued_reasons = {"device", "communicates", "few", "pending", "queue", "busy", "refused"};
  return result;
}

TEST(Summary, PressureIsThereIfItIsFollowed) {
  SummaryContext context = summary_context();
  EXPECT_EQ(as_json({}, context).find("restraint"), std::string::npos);
  context.neighbours.restraint = 3;
  EXPECT_NE(as_json({}, context).find(R"("changes":7,"pressure":null,"restraint":3})"), std::string::npos);
  context.neighbours.pressure = 37;
  EXPECT_NE(as_json({}, context).find(R"("changes":7,"pressure":0.037,"restraint":3})"), std::string::npos);
}

TEST(KernelCounters, LaunchesOfAllThreadsAddUp) {
  constexpr std::size_t kLaunches = 10'000;
  KernelCounters counters("kernel");
  kit::on_threads(4, [&](std::size_t) {
    for (std::size_t i = 0; i < kLaunches; ++i) counters.count_unsplit(i % kUnsplitReasonCount);
  });
  const KernelStatistics statistics = counters.statistics();
  EXPECT_EQ(statistics.launches, 4 * kLaunches);
  EXPECT_EQ(statistics.unsplit[0], 4 * (kLaunches / kUnsplitReasonCount + 1));
  counters.reset();
  EXPECT_EQ(counters.statistics().launches, 0U);
}

TEST(Counters, KernelsOfOneNameShareCounters) {
  Counters counters;
  counters.of("mm").count_split(20, base::Nanoseconds(500));
  counters.of("mm").count_unsplit(4);
  counters.of("never launched");
  const auto all = counters.all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "mm");
  EXPECT_EQ(all[0].statistics.launches, 2U);
  EXPECT_EQ(all[0].statistics.split, 1U);
  EXPECT_EQ(all[0].statistics.slices, 20U);
  EXPECT_EQ(all[0].statistics.unsplit[4], 1U);
}

TEST(Counters, MemoryIsBoundedForUnboundedNames) {
  Counters counters;
  for (int i = 0; i < 10000; ++i) counters.of("kernel_" + std::to_string(i)).count_unsplit(0);
  EXPECT_LE(counters.all().size(), 4097U);
  std::uint64_t launches = 0;
  for (const auto& kernel : counters.all()) launches += kernel.statistics.launches;
  EXPECT_EQ(launches, 10000U);
}

TEST(Counters, ConcurrentUpdatesAreExact) {
  Counters counters;
  kit::on_threads(4, [&](std::size_t) {
    for (int i = 0; i < 10000; ++i) counters.of("k").count_split(2, base::Nanoseconds(1));
  });
  EXPECT_EQ(counters.all()[0].statistics.slices, 80000U);
}

TEST(Summary, JsonHasTheDocumentedFields) {
  Counters counters;
  counters.of("mm\"\\\n").count_split(20, base::Nanoseconds(500));
  counters.of("mm\"\\\n").count_pipelined();
  for (int i = 0; i < 2; ++i) counters.of("mm\"\\\n").count_queued(1);
  counters.of("k").count_unsplit(4);
  EXPECT_EQ(
      as_json(counters.all(), summary_context()),
      R"({"version":1,"vms":5,"neighbours":{"source":"monitor","state":"known","stale":2,"changes":7},"waits":{"sleeping":3,"slept_ns":1500000000},"policy":"alpha","launches":2,"split":1,"slices":20,"added_ns":500,)"
      R"("unsplit":{"policy":0,"denied":0,"alone":0,"one_group":0,"small":1,"binary":0,"kernel":0,"shape":0,"shared":0,"recorded":0,"measuring":0,"costly":0,"below_quantum":0,"remote":0,"resident":0,"driver":0},)"
      R"("pipelined":1,"queued":{"device":0,"communicates":2,"few":0,"pending":0,"queue":0,"busy":0,"refused":0},)"
      R"("kernels":[{"name":"k","launches":1,"split":0,"slices":0,"added_ns":0,)"
      R"("unsplit":{"policy":0,"denied":0,"alone":0,"one_group":0,"small":1,"binary":0,"kernel":0,"shape":0,"shared":0,"recorded":0,"measuring":0,"costly":0,"below_quantum":0,"remote":0,"resident":0,"driver":0},)"
      R"("pipelined":0,"queued":{"device":0,"communicates":0,"few":0,"pending":0,"queue":0,"busy":0,"refused":0}},)"
      R"({"name":"mm\"\\\u000a","launches":1,"split":1,"slices":20,"added_ns":500,)"
      R"("unsplit":{"policy":0,"denied":0,"alone":0,"one_group":0,"small":0,"binary":0,"kernel":0,"shape":0,"shared":0,"recorded":0,"measuring":0,"costly":0,"below_quantum":0,"remote":0,"resident":0,"driver":0},)"
      R"("pipelined":1,"queued":{"device":0,"communicates":2,"few":0,"pending":0,"queue":0,"busy":0,"refused":0}}],)"
      R"("turns":{"devices":[{"device":"GPU","file":"turns-1","state":"joined","problem":"","launches":3,"turns":2,"waited_ns":1500000,"longest_wait_ns":1200000,"capped_ns":200000,"waited_for":[{"tenant":"alice","pid":0,"waited_ns":1000000}],"held_ns":4000000,"stalls":0},)"
      R"({"device":"other","file":"turns-2","state":"impossible","problem":"cannot open it","launches":0,"turns":0,"waited_ns":0,"longest_wait_ns":0,"capped_ns":0,"waited_for":[],"held_ns":0,"stalls":0}],)"
      R"("exempt":{"user_event":1,"queue":0}},"tenant":"bob",)"
      R"("memory":[{"device":"GPU","bytes":100,"peak_bytes":300,"limit_bytes":1000,"refused":2}]})"
      "\n");
}

TEST(Summary, TextGivesReasonsAndConsistentTotals) {
  Counters counters;
  counters.of("mm").count_split(20, base::Nanoseconds(1'500'000));
  counters.of("small_one").count_unsplit(4);
  const std::string text = as_text(counters.all(), summary_context());
  EXPECT_THAT(text, HasSubstr("5 VMs (monitor: known, silent 2 times), policy alpha"));
  EXPECT_THAT(text, HasSubstr("1: 1 small"));
  EXPECT_THAT(text, HasSubstr("1.5 ms"));
  EXPECT_THAT(text, HasSubstr("\ncleave: all "));
  EXPECT_THAT(text, HasSubstr("\ncleave: 3 sleeping waits, 1.50 s slept\n"));
  EXPECT_THAT(text,
              HasSubstr("\ncleave: GPU: 3 launches in 2 turns, held 4.0 ms, waited 1.5 ms (1.2 ms at most)\n"
                        "cleave: other: no turns: cannot open it\n"
                        "cleave: launches that took no turn: 1 user_event\n"
                        "cleave: GPU: 2 allocations beyond the memory limit of 1000 bytes refused, 300 bytes "
                        "at most in use\n"));
  EXPECT_EQ(as_text({}, summary_context()), "cleave: no launches\n");
}

TEST(Summary, ReasonsOfOneNameAreCountedTogether) {
  Counters counters;
  counters.of("mm").count_unsplit(4);
  for (const std::size_t reason : {15U, 17U, 28U}) counters.of("mm").count_unsplit(reason);
  EXPECT_THAT(as_text(counters.all(), summary_context()), HasSubstr("4: 1 small, 3 driver\n"));
  EXPECT_THAT(as_json(counters.all(), summary_context()), HasSubstr(R"("resident":0,"driver":3})"));
}

// Of the one kernel that was not always split, one reason in the program and one in the driver.
Explanations explanations() {
  return {{"mm",
           {{"kernel",
             2,
             "the kernel may notice the split",
             "remove the line",
             {{"`a.h` is included in line 12 of b.h and was not found", "a.h", "b.h", 12}}},
            {"driver", 1, "the driver may crash", "nothing", {}}}}};
}

TEST(Explanation, JsonIsPartOfTheKernels) {
  Counters counters;
  counters.of("mm").count_unsplit(6);
  counters.of("k").count_split(2, base::Nanoseconds(1));
  SummaryContext context = summary_context();
  context.explanations = explanations();
  EXPECT_THAT(
      as_json(counters.all(), context),
      HasSubstr(
          R"("causes":[{"reason":"kernel","launches":2,"cause":"the kernel may notice the split","advice":"remove the line",)"
          R"("findings":[{"text":"`a.h` is included in line 12 of b.h and was not found","construct":"a.h","file":"b.h","line":12}]},)"
          R"({"reason":"driver","launches":1,"cause":"the driver may crash","advice":"nothing","findings":[]}]}],)"));
}

TEST(Explanation, TextSaysForEachReasonWhatToDo) {
  Counters counters;
  for (const std::size_t reason : {6U, 6U, 15U}) counters.of("mm").count_unsplit(reason);
  counters.of("k").count_split(2, base::Nanoseconds(1));
  EXPECT_EQ(as_text(counters.all(), explanations()),
            "cleave: mm: 3 launches, 0 split\n"
            "cleave:   2 kernel: the kernel may notice the split\n"
            "cleave:     `a.h` is included in line 12 of b.h and was not found\n"
            "cleave:     what to do: remove the line\n"
            "cleave:   1 driver: the driver may crash\n"
            "cleave:     what to do: nothing\n");
}

TEST(Explanation, TextSaysThatAllLaunchesWereSplit) {
  Counters counters;
  EXPECT_EQ(as_text(counters.all(), Explanations{}), "cleave: no launches\n");
  counters.of("k").count_split(2, base::Nanoseconds(1));
  EXPECT_EQ(as_text(counters.all(), Explanations{}), "cleave: 1 launch, all split\n");
}

}  // namespace
}  // namespace cleave::observe
