// What readers see of the turns, who take no part: the files may hold anything.
#include "turns/report.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/kit/eventually.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

struct ReportTest : testing::Test {
  ReportTest() { options.device = "GPU \x01 1"; }

  [[nodiscard]] DeviceReport read() const { return read_report(folder.path(), name); }
  [[nodiscard]] std::string content() const {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(file, std::ios::binary) << bytes; }
  // A file of two processes that have ended.
  [[nodiscard]] std::string content_of_two() const {
    std::string content_while_they_lived;
    {
      const Member a(options);
      const Member b(options);
      content_while_they_lived = content();
    }
    return content_while_they_lived;
  }

  kit::TemporaryFolder folder;
  Options options = options_in(folder.path());
  std::string name = SharedFile::name_for(options.identity);
  std::string file = folder.file(name);
};

TEST_F(ReportTest, TotalsOfATenantOutliveItsProcesses) {
  options.tenant = "alice";
  Options others = options;
  others.tenant = "";
  Member stays(options);
  {
    Member leaves(options);
    Member stranger(others);
    for (Member* const each : {&leaves, &stranger}) {
      ASSERT_TRUE(each->turns.begin());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      each->turns.end();
    }
  }
  const auto killed = process_that_holds(options);
  ASSERT_EQ(killed->next(), 'h');
  killed->kill();
  ASSERT_TRUE(stays.turns.begin()) << "which takes the killed one's turn";
  stays.turns.end();
  const DeviceReport report = read();
  ASSERT_EQ(report.participants.size(), 1U);
  EXPECT_EQ(report.participants[0].tenant, "alice");
  ASSERT_EQ(report.tenants.size(), 2U);
  const auto& alice = report.tenants[report.tenants[0].tenant == "alice" ? 0 : 1];
  const auto& nobody = report.tenants[report.tenants[0].tenant == "alice" ? 1 : 0];
  EXPECT_EQ(alice.tenant, "alice");
  EXPECT_EQ(alice.processes, 3U);
  EXPECT_EQ(alice.turns, 3U);
  EXPECT_GE(alice.used, 2'000'000U);
  EXPECT_EQ(nobody.tenant, "");
  EXPECT_EQ(nobody.turns, 1U);
  EXPECT_GE(nobody.used, 2'000'000U);
}

TEST_F(ReportTest, MoreTenantsThanThereIsRoomForCountAsOne) {
  Header header;
  std::array<Participant, 1> participants;
  std::array<TenantTotals, 4> totals;
  const View state{header, participants, totals};
  Participant p;
  p.used = 10;
  for (int i = 0; i < 20; ++i) {
    set_tenant(p, "tenant-" + std::to_string(i % 10));
    add_to_totals(state, p);
  }
  EXPECT_EQ(header.tenants, 4U);
  EXPECT_EQ(tenant_name(totals[0]), "tenant-0");
  EXPECT_EQ(totals[0].used, 20U);
  EXPECT_EQ(totals[3].tenant, 0U);
  EXPECT_EQ(totals[3].used, 140U);
}

TEST_F(ReportTest, SaysWhoHoldsAndWhoWaits) {
  options.weight = 300;
  options.priority = Priority::high;
  Member a(options);
  Options others = options;
  others.weight = 100;
  others.priority = Priority::normal;
  Member b(others);
  ASSERT_TRUE(a.turns.begin());
  std::thread waits([&] {
    EXPECT_TRUE(b.turns.begin());
    b.turns.end();
  });
  EXPECT_TRUE(kit::eventually([&] { return read().participants.at(1).since > 2'000'000; }));
  const auto reports = read_reports(folder.path());
  ASSERT_EQ(reports.size(), 1U);
  const DeviceReport& report = reports.front();
  EXPECT_EQ(report.file, name);
  EXPECT_EQ(report.device, "GPU ? 1");
  EXPECT_EQ(report.state, FileState::usable);
  ASSERT_EQ(report.participants.size(), 2U);
  const ParticipantReport& first = report.participants[0];
  const ParticipantReport& second = report.participants[1];
  EXPECT_EQ(first.pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(first.weight, 300U);
  EXPECT_EQ(first.priority, Priority::high);
  EXPECT_TRUE(first.alive && first.holds && !first.waits);
  EXPECT_GT(first.since, 2'000'000);
  EXPECT_GT(first.used, 2'000'000U) << "what it has not been charged for yet, too";
  EXPECT_TRUE(second.alive && second.waits && !second.holds);
  EXPECT_GE(second.longest_wait, second.since);
  EXPECT_NE(first.id, second.id);
  a.turns.end();
  waits.join();
  const DeviceReport later = read();
  ASSERT_EQ(later.participants.size(), 2U);
  EXPECT_EQ(later.participants[1].id, second.id);
  EXPECT_EQ(later.participants[1].turns, 1U);
  EXPECT_GE(later.participants[1].longest_wait, second.since);
  EXPECT_GE(later.participants[1].waited, second.since);
  EXPECT_FALSE(later.participants[0].holds || later.participants[1].holds);
}

TEST_F(ReportTest, ReadingChangesNothing) {
  EXPECT_EQ(read().state, FileState::missing);
  EXPECT_TRUE(read_reports(folder.path()).empty());
  EXPECT_TRUE(read_reports(folder.file("nowhere")).empty());
  EXPECT_EQ(access(file.c_str(), F_OK), -1);
  EXPECT_EQ(access(folder.file("nowhere").c_str(), F_OK), -1);
  const Member a(options);
  const std::string before = content();
  EXPECT_EQ(read().participants.size(), 1U);
  EXPECT_EQ(content(), before);
}

TEST_F(ReportTest, ProcessesThatHaveEndedAreSaidToHave) {
  {
    const auto other = process_that_holds(options);
    ASSERT_EQ(other->next(), 'h');
    EXPECT_TRUE(read().participants.at(0).alive);
  }
  const DeviceReport report = read();
  ASSERT_EQ(report.participants.size(), 1U);
  EXPECT_FALSE(report.participants[0].alive);
}

TEST_F(ReportTest, WhoEndedWhileItHeldTheDeviceIsChargedNoMore) {
  const auto killed = process_that_holds(options);
  ASSERT_EQ(killed->next(), 'h');
  killed->kill();
  const auto used = [this] { return read().tenants.at(0).used; };
  const std::uint64_t before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(used(), before);
}

TEST_F(ReportTest, TruncatedFilesAreRead) {
  const std::string whole = content_of_two();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{3}, sizeof(Header) - 1, sizeof(Header), sizeof(Header) + 1,
        sizeof(Header) + sizeof(Participant), sizeof(Header) + 2 * sizeof(Participant) - 1}) {
    write(whole.substr(0, size));
    EXPECT_LE(read().participants.size(), 2U) << size;
    EXPECT_EQ(read_reports(folder.path()).size(), 1U) << size;
  }
  write("");
  EXPECT_EQ(read().state, FileState::usable) << "somebody is just making it";
}

TEST_F(ReportTest, GarbageIsLimited) {
  std::mt19937 random(1);
  const std::string whole = content_of_two();
  for (int round = 0; round < 200; ++round) {
    std::string garbage = whole;
    std::generate(garbage.begin() + 8, garbage.end(), [&] { return static_cast<char>(random()); });
    write(garbage);
    const DeviceReport report = read();
    ASSERT_EQ(report.state, FileState::usable);
    EXPECT_LE(report.participants.size(), std::size_t{kMaxParticipants});
    EXPECT_TRUE(
        std::all_of(report.device.begin(), report.device.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    for (const ParticipantReport& each : report.participants) {
      EXPECT_TRUE(each.weight >= 1 && each.weight <= kMaxWeight);
      EXPECT_LT(static_cast<unsigned>(each.priority), kPriorities);
      EXPECT_TRUE(each.since >= 0 && each.longest_wait >= 0 && each.waited >= 0);
      EXPECT_FALSE(each.holds && each.waits);
      EXPECT_FALSE(each.alive) << "nobody has a lock";
    }
  }
}

TEST_F(ReportTest, WhatIsNoFileOfTurnsIsSaidToBe) {
  Header header{.magic = kFileMagic, .version = kFileVersion + 1};
  write({reinterpret_cast<const char*>(&header), sizeof header});
  EXPECT_EQ(read().state, FileState::other_version);
  EXPECT_NE(read().problem, "");
  write("something else altogether");
  EXPECT_EQ(read().state, FileState::foreign);
  for (const auto& make : {+[](const char* path) { return mkdir(path, 0700); },
                           +[](const char* path) { return mkfifo(path, 0600); },
                           +[](const char* path) { return symlink("/dev/zero", path); }}) {
    std::remove(file.c_str());
    ASSERT_EQ(make(file.c_str()), 0);
    EXPECT_EQ(read().state, FileState::foreign);
    EXPECT_TRUE(read().participants.empty());
  }
  std::ofstream(folder.file("turns-not-hexadecimal-1")) << "x";
  EXPECT_EQ(read_reports(folder.path()).size(), 1U);
}

TEST_F(ReportTest, AFileThatMayNotBeReadIsSaidToBe) {
  const Member a(options);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  OtherProcess other([&](const OtherProcess::Say& say) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) say('?');
    const DeviceReport report = read();
    say(report.state == FileState::unreadable && !report.problem.empty() ? 'y' : 'n');
  });
  EXPECT_EQ(other.next(), 'y');
}

TEST(LongestWait, IsForgottenAfterTenToTwentySeconds) {
  constexpr Ns kSecond = 1'000'000'000;
  Participant p;
  note_wait(p, 50, 100 * kSecond);
  note_wait(p, 20, 105 * kSecond);
  EXPECT_EQ(longest_recent_wait(p, 106 * kSecond), 50);
  note_wait(p, 10, 111 * kSecond);
  EXPECT_EQ(longest_recent_wait(p, 111 * kSecond), 50) << "of the period before";
  note_wait(p, 5, 121 * kSecond);
  EXPECT_EQ(longest_recent_wait(p, 121 * kSecond), 10);
  EXPECT_EQ(longest_recent_wait(p, 132 * kSecond), 5);
  EXPECT_EQ(longest_recent_wait(p, 141 * kSecond), 0);
  note_wait(p, 1, 200 * kSecond);
  EXPECT_EQ(longest_recent_wait(p, 200 * kSecond), 1);
  EXPECT_EQ(p.waited, 86);
}

}  // namespace
}  // namespace cleave::turns
