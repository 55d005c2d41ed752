// Participants in processes of their own, that are killed, stopped, forked, or live in other containers or as other users.
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/kit/eventually.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

struct TurnsOfProcesses : testing::Test {
  kit::TemporaryFolder folder;
  Options options = options_in(folder.path());

  // Waits for a turn that somebody else has, does `meanwhile`, and returns how long it took from then until it had it.
  double milliseconds_to_get_it_after(Member& member, const std::function<void()>& meanwhile) {
    std::jthread waiting([&] { EXPECT_TRUE(member.turns.begin()); });
    EXPECT_TRUE(kit::eventually([&] { return waits(member); }));
    meanwhile();
    const auto since = std::chrono::steady_clock::now();
    waiting.join();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
  }

  // Whether this process's own participant waits.
  static bool waits(Member& member) {
    for (const ParticipantReport& report : member.turns.snapshot()) {
      if (report.pid == static_cast<std::uint32_t>(getpid()) && report.waits) return true;
    }
    return false;
  }
};

constexpr double kAMinute = 60'000;

TEST_F(TurnsOfProcesses, AHolderThatIsKilledLosesItsTurn) {
  const auto holder = process_that_holds(options);
  ASSERT_EQ(holder->next(), 'h');
  Member member(options);
  const double delay = milliseconds_to_get_it_after(member, [&] { holder->kill(); });
  EXPECT_LT(delay, kAMinute);
  RecordProperty("milliseconds", std::to_string(delay));
  EXPECT_EQ(member.turns.snapshot().size(), 1U);
  EXPECT_TRUE(kit::eventually([&] { return !member.turns.contended(); }));
}

TEST_F(TurnsOfProcesses, AWaiterThatIsKilledIsPassedOver) {
  Member holder(options);
  ASSERT_TRUE(holder.turns.begin());
  const auto waiter = process_that_holds(options);
  const auto another = process_that_holds(options);
  ASSERT_TRUE(kit::eventually([&] {
    static_cast<void>(holder.turns.should_yield());
    const auto sights = holder.turns.snapshot();
    return sights.size() == 3 && sights[1].waits && sights[2].waits;
  }));
  waiter->kill();
  holder.turns.end();
  EXPECT_EQ(another->next(), 'h');
}

TEST_F(TurnsOfProcesses, AHolderThatIsStoppedLosesItsTurnWhenItsLeaseEndsAndWaitsWhenItGoesOn) {
  options.timing.lease = 300'000'000;
  const OtherProcess holder([&](const OtherProcess::Say& say) {
    Member* const member = new Member(options);
    say(member->turns.begin() ? 'h' : 'n');
    // One slice after the other.
    while (!member->turns.should_yield()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    say('y');
    say(member->turns.yield() ? 'b' : 'n');
  });
  ASSERT_EQ(holder.next(), 'h');
  Member member(options);
  holder.send(SIGSTOP);
  ASSERT_TRUE(member.turns.begin());
  holder.send(SIGCONT);
  EXPECT_EQ(holder.next(), 'y');
  EXPECT_TRUE(kit::eventually([&] {
    static_cast<void>(member.turns.should_yield());
    return member.turns.snapshot()[0].waits;
  }));
  EXPECT_TRUE(holder.is_silent());
  member.turns.end();
  EXPECT_EQ(holder.next(), 'b');
}

TEST_F(TurnsOfProcesses, AForkedChildHasNoTurnAndTakesNoneAway) {
  Member parent(options);
  ASSERT_TRUE(parent.turns.begin());
  Member other(options);
  parent.forks.before_fork();
  other.forks.before_fork();
  const OtherProcess child([&](const OtherProcess::Say& say) {
    other.forks.after_fork_in_child();
    parent.forks.after_fork_in_child();
    say(parent.turns.contended() ? 'c' : 'a');
    say(parent.turns.begin() ? 'h' : 'n');
    parent.turns.end();
    parent.turns.leave();
    say('l');
    say(parent.turns.enter(parent.problem) && parent.turns.begin() ? 'h' : 'n');
  });
  other.forks.after_fork_in_parent();
  parent.forks.after_fork_in_parent();
  EXPECT_EQ(child.next(), 'a');
  EXPECT_EQ(child.next(), 'n');
  EXPECT_EQ(child.next(), 'l');
  // The parent still holds, and now the child is a participant of its own, which waits.
  EXPECT_TRUE(kit::eventually([&] {
    static_cast<void>(parent.turns.should_yield());
    const auto sights = parent.turns.snapshot();
    return sights.size() == 3 && sights[0].holds && sights[2].waits;
  }));
  EXPECT_TRUE(child.is_silent());
  parent.turns.end();
  EXPECT_EQ(child.next(), 'h');
}

TEST_F(TurnsOfProcesses, AChildThatLivesOnDoesNotKeepItsParentsTurn) {
  const OtherProcess parent([&](const OtherProcess::Say& say) {
    Member* const member = new Member(options);
    const bool holds = member->turns.begin();
    member->forks.before_fork();
    if (fork() == 0) {
      member->forks.after_fork_in_child();
      say(holds ? 'h' : 'n');
      // Until the test has ended, since nobody reads the pipe then.
      for (int i = 0; i < 12'000; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        say('.');
      }
      _exit(0);
    }
    member->forks.after_fork_in_parent();
  });
  ASSERT_EQ(parent.next(), 'h');
  Member member(options);
  const auto since = std::chrono::steady_clock::now();
  parent.send(SIGKILL);
  EXPECT_TRUE(member.turns.begin());
  EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(30));
}

// Executes `body` in new user, process id and mount namespaces. Says 'u' where that is not permitted.
std::unique_ptr<OtherProcess> process_in_namespaces(
    const std::function<void(const OtherProcess::Say&)>& body) {
  return std::make_unique<OtherProcess>([&](const OtherProcess::Say& say) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0) return say('u');
    const pid_t first = fork();
    if (first == 0) {
      body(say);
      for (;;) pause();
    }
    // Which ends with this one.
    waitpid(first, nullptr, 0);
  });
}

TEST_F(TurnsOfProcesses, AContainerWithProcessIdsOfItsOwnTakesPart) {
  const std::string end_it = folder.file("end it");
  const auto container = process_in_namespaces([&](const OtherProcess::Say& say) {
    Member* const member = new Member(options);
    say(member->joined && member->turns.begin() ? 'h' : 'n');
    while (!std::filesystem::exists(end_it)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    _exit(0);  // without leaving
  });
  const char said = container->next();
  if (said == 'u') GTEST_SKIP() << "user namespaces are not permitted here";
  ASSERT_EQ(said, 'h');
  Member member(options);
  EXPECT_EQ(member.turns.snapshot()[0].pid, 1U);
  std::ofstream(end_it).put('!');
  EXPECT_TRUE(member.turns.begin());
}

// Joins as another user, and holds the device.
std::unique_ptr<OtherProcess> process_of_another_user(const Options& options) {
  return std::make_unique<OtherProcess>([&](const OtherProcess::Say& say) {
    constexpr uid_t kNobodysId = 65534;
    if (setgid(kNobodysId) != 0 || setuid(kNobodysId) != 0) return say('u');
    Member* const member = new Member(options);
    say(!member->joined ? 'n' : member->problem.empty() && member->turns.begin() ? 'h' : 'x');
  });
}

TEST_F(TurnsOfProcesses, UsersShareTheTurnsWhereTheFoldersRightsAllowIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to become another user";
  ASSERT_EQ(chmod(folder.path().c_str(), 0711), 0);
  options.folder = folder.file("registry");
  Member member(options);  // makes the folder, as the first one does
  ASSERT_TRUE(member.joined) << member.problem;
  const auto other = process_of_another_user(options);
  ASSERT_EQ(other->next(), 'h');
  EXPECT_LT(milliseconds_to_get_it_after(member, [&] { other->kill(); }), kAMinute);
}

TEST_F(TurnsOfProcesses, UsersWithoutTheRightHaveNoTurns) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to become another user";
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  // Neither with a file that is not theirs, nor in a folder where they may not make one.
  EXPECT_EQ(process_of_another_user(options)->next(), 'n');
  Member member(options);
  ASSERT_TRUE(member.joined) << member.problem;
  EXPECT_EQ(process_of_another_user(options)->next(), 'n');
}

TEST_F(TurnsOfProcesses, AFullFolderIsSaid) {
  const OtherProcess process([&](const OtherProcess::Say& say) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return say('u');
    if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=4096") != 0) return say('u');
    const Member member(options);
    say(!member.joined && member.problem.find("no room") != std::string::npos ? 'f' : 'x');
  });
  const char said = process.next();
  if (said == 'u') GTEST_SKIP() << "file systems cannot be mounted here";
  EXPECT_EQ(said, 'f');
}

TEST_F(TurnsOfProcesses, AFileSizeLimitIsSaidAndSendsNoSignal) {
  const OtherProcess process([&](const OtherProcess::Say& say) {
    const rlimit none{1024, 1024};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) return say('x');
    const Member member(options);
    say(member.joined ? 'j' : 'n');
  });
  EXPECT_EQ(process.next(), 'n');
}

}  // namespace
}  // namespace cleave::turns
