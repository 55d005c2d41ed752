#include "limits/memory_ledger.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files/registry_file.h"
#include "tests/kit/temporary_folder.h"
#include "tests/unit/turns/participant.h"
#include "turns/report.h"

namespace cleave::limits {
namespace {

using Answer = MemoryLedger::Answer;
using turns::OtherProcess;

struct MemoryLedgerTest : testing::Test {
  kit::TemporaryFolder folder;
  std::string problem;

  std::unique_ptr<MemoryLedger> open(std::string_view tenant = "alice",
                                     const std::string& device = "device") {
    return MemoryLedger::open(folder.path(), device, tenant, problem, "GPU \x01");
  }
  std::string path() const { return folder.file(MemoryLedger::name_for("device")); }
};

TEST_F(MemoryLedgerTest, TheLimitIsExactToTheByte) {
  const auto ledger = open();
  ASSERT_TRUE(ledger) << problem;
  EXPECT_EQ(ledger->book(999, 1000), Answer::booked);
  EXPECT_EQ(ledger->book(2, 1000), Answer::beyond);
  EXPECT_EQ(ledger->excess(), 1U);
  EXPECT_EQ(ledger->book(1, 1000), Answer::booked);
  EXPECT_EQ(ledger->book(1, 1000), Answer::beyond);
  ledger->release(1);
  EXPECT_EQ(ledger->book(1, 1000), Answer::booked);
}

TEST_F(MemoryLedgerTest, ProcessesOfOneTenantShareItsLimit) {
  const auto one = open();
  const auto other = open();
  EXPECT_EQ(one->book(600, 1000), Answer::booked);
  EXPECT_EQ(other->book(411, 1000), Answer::beyond);
  EXPECT_EQ(other->excess(), 11U);
  EXPECT_EQ(other->book(400, 1000), Answer::booked);
  EXPECT_EQ(one->book(1, 1000), Answer::beyond);
}

TEST_F(MemoryLedgerTest, OthersHaveTheirOwn) {
  const auto alice = open("alice");
  const auto bob = open("bob");
  const auto nobody = open("");
  const auto nobody_else = open("");
  for (const auto& each : {&alice, &bob, &nobody, &nobody_else})
    EXPECT_EQ((*each)->book(1000, 1000), Answer::booked);
}

TEST_F(MemoryLedgerTest, DevicesHaveLedgersOfTheirOwn) {
  const auto one = open("alice", "device");
  const auto other = open("alice", "other device");
  EXPECT_EQ(one->book(1000, 1000), Answer::booked);
  EXPECT_EQ(other->book(1000, 1000), Answer::booked);
}

TEST_F(MemoryLedgerTest, SumsDoNotOverflow) {
  const auto one = open();
  const auto other = open();
  EXPECT_EQ(one->book(UINT64_MAX - 5, 0), Answer::booked);
  EXPECT_EQ(one->book(UINT64_MAX, 0), Answer::booked);
  EXPECT_EQ(other->book(10, 1000), Answer::beyond);
}

TEST_F(MemoryLedgerTest, NothingStaysBookedForAProcessThatIsKilled) {
  const auto ledger = open();
  OtherProcess other([&](const OtherProcess::Say& say) {
    auto* const theirs = open().release();  // never released
    say(theirs->book(700, 1000) == Answer::booked ? 'b' : 'n');
  });
  ASSERT_EQ(other.next(), 'b');
  EXPECT_EQ(ledger->book(500, 1000), Answer::beyond);
  other.kill();
  EXPECT_EQ(ledger->book(1000, 1000), Answer::booked);
}

TEST_F(MemoryLedgerTest, AProcessThatIsStoppedKeepsWhatItHas) {
  const auto ledger = open();
  OtherProcess other([&](const OtherProcess::Say& say) {
    auto* const theirs = open().release();
    say(theirs->book(700, 1000) == Answer::booked ? 'b' : 'n');
  });
  ASSERT_EQ(other.next(), 'b');
  other.send(SIGSTOP);
  EXPECT_EQ(ledger->book(301, 1000), Answer::beyond);
  EXPECT_EQ(ledger->book(300, 1000), Answer::booked);
}

TEST_F(MemoryLedgerTest, ManyThatBookAtATimeGetExactlyTheLimit) {
  constexpr int kProcesses = 6;
  constexpr int kEach = 400;
  std::vector<std::unique_ptr<OtherProcess>> all;
  for (int i = 0; i < kProcesses; ++i) {
    all.push_back(std::make_unique<OtherProcess>([&](const OtherProcess::Say& say) {
      auto* const ledger = open().release();
      int booked = 0;
      for (int n = 0; n < kEach; ++n) booked += ledger->book(1, 1000) == Answer::booked ? 1 : 0;
      say(static_cast<char>('0' + booked / 100));
      say(static_cast<char>('0' + booked / 10 % 10));
      say(static_cast<char>('0' + booked % 10));
    }));
  }
  int sum = 0;
  for (const auto& each : all) {
    for (const int unit : {100, 10, 1}) sum += (each->next() - '0') * unit;
  }
  EXPECT_EQ(sum, 1000);
}

TEST_F(MemoryLedgerTest, AForkedChildHasAnEntryOfItsOwn) {
  auto ledger = open();
  EXPECT_EQ(ledger->book(600, 1000), Answer::booked);
  OtherProcess child([&](const OtherProcess::Say& say) {
    ledger->forget();
    auto* const own = open().release();
    say(own->book(401, 1000) == Answer::beyond ? 'y' : 'n');
    say(own->book(400, 1000) == Answer::booked ? 'y' : 'n');
  });
  EXPECT_EQ(child.next(), 'y');
  EXPECT_EQ(child.next(), 'y');
  child.kill();
  EXPECT_EQ(ledger->book(401, 1000), Answer::beyond);
  EXPECT_EQ(ledger->book(400, 1000), Answer::booked);
}

TEST_F(MemoryLedgerTest, ATruncatedFileLosesNothingOfTheirsThatBookAgain) {
  const auto ledger = open();
  EXPECT_EQ(ledger->book(600, 1000), Answer::booked);
  ASSERT_EQ(truncate(path().c_str(), 0), 0);
  EXPECT_EQ(ledger->book(401, 1000), Answer::beyond);
  EXPECT_EQ(ledger->book(400, 1000), Answer::booked);
}

TEST_F(MemoryLedgerTest, GarbageOfOthersRefusesAtMost) {
  const auto ledger = open();
  std::ofstream(path(), std::ios::binary | std::ios::in).seekp(80 + 112) << std::string(112 * 20, '\xff');
  EXPECT_EQ(ledger->book(1000, 1000), Answer::booked) << "entries that no living process has";
  EXPECT_EQ(ledger->book(1, 1000), Answer::beyond);
}

TEST_F(MemoryLedgerTest, AFileThatHoldsSomethingElseIsLeftAlone) {
  folder.write(MemoryLedger::name_for("device"), "something else, of some length");
  EXPECT_FALSE(open());
  EXPECT_NE(problem.find("it holds something else"), std::string::npos) << problem;
  EXPECT_EQ(kit::file_contents(path()), "something else, of some length");
}

TEST_F(MemoryLedgerTest, AFolderThatCannotBeThereIsAProblem) {
  EXPECT_FALSE(MemoryLedger::open("/proc/none", "device", "alice", problem));
  EXPECT_NE(problem.find("cannot open /proc/none/memory-"), std::string::npos) << problem;
}

TEST_F(MemoryLedgerTest, ReportsShowWhoHasHowMuch) {
  const auto ledger = open();
  EXPECT_NE(ledger->book(700, 1000), Answer::beyond);
  ledger->release(200);
  const auto reports = read_ledgers(folder.path());
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].file, MemoryLedger::name_for("device"));
  EXPECT_EQ(reports[0].device, "GPU ?");
  EXPECT_EQ(reports[0].tenant, "alice");
  EXPECT_EQ(reports[0].pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(reports[0].bytes, 500U);
  EXPECT_EQ(reports[0].peak, 700U);
  EXPECT_EQ(reports[0].limit, 1000U);
  EXPECT_TRUE(read_ledgers(folder.file("another")).empty());
}

TEST_F(MemoryLedgerTest, ReportsTellTwoDevicesOfOneNameApart) {
  const auto first = MemoryLedger::open(folder.path(), "first", "alice", problem, "GPU");
  const auto second = MemoryLedger::open(folder.path(), "second", "alice", problem, "GPU");
  const auto reports = read_ledgers(folder.path());
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].device, reports[1].device);
  EXPECT_NE(reports[0].file, reports[1].file);
}

// Files of every kind that readers look at, made after one that is in use: the folder's order may name them first.
TEST_F(MemoryLedgerTest, FilesOfOneOwnerHideNoOthers) {
  const auto ledger = open();
  ASSERT_TRUE(ledger) << problem;
  EXPECT_EQ(ledger->book(100, 1000), Answer::booked);
  const turns::Options options = turns::options_in(folder.path());
  const turns::Member member(options);
  ASSERT_TRUE(member.joined) << member.problem;
  constexpr uid_t kStranger = 12345;
  for (int i = 0; i < 600; ++i) {
    for (const char* kind : {"memory", "turns"}) {
      const std::string path = folder.file(base::registry_file_name(kind, std::to_string(i), 0));
      std::ofstream(path).put(' ');
      if (geteuid() == 0) {
        ASSERT_EQ(chown(path.c_str(), kStranger, kStranger), 0);
      }
    }
  }
  EXPECT_LE(turns::read_reports(folder.path()).size(), base::kMostFilesOfOwner + 1);
  if (geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  EXPECT_EQ(read_ledgers(folder.path()).size(), 1U);
  const auto devices = turns::read_reports(folder.path());
  EXPECT_TRUE(std::any_of(devices.begin(), devices.end(),
                          [](const turns::DeviceReport& each) { return each.participants.size() == 1; }));
}

}  // namespace
}  // namespace cleave::limits
