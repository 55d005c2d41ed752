// Participants that take turns over a file, as threads of one process.
#include "turns/turns.h"

#include <atomic>
#include <fcntl.h>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/kit/eventually.h"
#include "tests/kit/threads.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

struct TurnsTest : testing::Test {
  kit::TemporaryFolder folder;
  Options options = options_in(folder.path());
  std::string file = folder.file(SharedFile::name_for(options.identity));

  void write_bytes(const void* bytes, std::size_t size, off_t offset) const {
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(pwrite(fd, bytes, size, offset), static_cast<ssize_t>(size));
    close(fd);
  }
  void write_version(std::uint32_t version) const {
    Header header;
    header.magic = kFileMagic;
    header.version = version;
    write_bytes(&header, sizeof header, 0);
  }
};

TEST_F(TurnsTest, WhoIsAloneIsNotContended) {
  Member a(options);
  ASSERT_TRUE(a.joined) << a.problem;
  EXPECT_FALSE(a.turns.contended());
  {
    Member b(options);
    EXPECT_TRUE(b.turns.contended());
    EXPECT_TRUE(kit::eventually([&] { return a.turns.contended(); }));
  }
  EXPECT_TRUE(kit::eventually([&] { return !a.turns.contended(); }));
}

TEST_F(TurnsTest, ExitingProcessLeavesAlthoughAnotherThreadIsInAStep) {
  Member b(options);
  for (int i = 0; i < 50; ++i) {
    Member a(options);
    std::atomic<bool> runs{false};
    std::atomic<bool> ended{false};
    std::jthread other([&] {
      for (; !ended; runs = true) static_cast<void>(a.turns.should_yield());
    });
    EXPECT_TRUE(kit::eventually([&] { return runs.load(); }));
    a.turns.leave_at_exit();
    EXPECT_TRUE(kit::eventually([&] { return b.turns.snapshot().size() == 1; }));
    ended = true;
  }
}

TEST_F(TurnsTest, DevicesHaveFilesOfTheirOwn) {
  Member a(options);
  Options others = options;
  others.identity = "another device";
  Member b(others);
  EXPECT_FALSE(b.turns.contended());
  EXPECT_TRUE(a.turns.begin());
  EXPECT_TRUE(b.turns.begin());
}

// `a` has the device, sends heartbeats, and goes on; `b` gets it afterwards.
void expect_waiting_until_the_end(Member& a, Member& b) {
  std::atomic<bool> ended{false};
  std::jthread other([&] {
    EXPECT_TRUE(b.turns.begin());
    EXPECT_TRUE(ended);
    b.turns.end();
  });
  const auto waits = [](const ParticipantReport& report) { return report.waits; };
  EXPECT_TRUE(kit::eventually([&] {
    static_cast<void>(a.turns.should_yield());
    const auto sights = a.turns.snapshot();
    return std::any_of(sights.begin(), sights.end(), waits);
  }));
  ended = true;
  a.turns.end();
}

TEST_F(TurnsTest, ASecondOneWaitsUntilTheFirstHasEnded) {
  Member a(options);
  Member b(options);
  ASSERT_TRUE(a.turns.begin());
  EXPECT_FALSE(a.turns.should_yield());
  expect_waiting_until_the_end(a, b);
}

TEST_F(TurnsTest, ThreadsOfOneProcessShareItsTurn) {
  Member a(options);
  Member b(options);
  ASSERT_TRUE(a.turns.begin());
  std::jthread([&] { EXPECT_TRUE(a.turns.begin()); }).join();
  a.turns.end();
  std::atomic<bool> last{false};
  std::jthread other([&] {
    EXPECT_TRUE(b.turns.begin());
    EXPECT_TRUE(last);
  });
  EXPECT_TRUE(kit::eventually(
      [&] { return static_cast<void>(a.turns.should_yield()), a.turns.snapshot()[1].waits; }));
  last = true;
  a.turns.end();
}

TEST_F(TurnsTest, WaitThatIsInterruptedAsksNoMore) {
  options.timing.lease = 40'000'000;
  Member a(options);
  Member b(options);
  ASSERT_TRUE(a.turns.begin());
  std::atomic<bool> done{false};
  std::jthread other([&] {
    EXPECT_TRUE(b.turns.begin());
    EXPECT_TRUE(kit::eventually([&] { return static_cast<void>(b.turns.should_yield()), done.load(); }));
    b.turns.end();
  });
  ASSERT_TRUE(kit::eventually([&] { return a.turns.should_yield(); }));
  const std::atomic<int> interrupt{1};
  EXPECT_FALSE(a.turns.yield(&interrupt));
  EXPECT_TRUE(a.turns.has_joined());
  EXPECT_FALSE(a.turns.snapshot()[0].waits);
  done = true;
  other.join();
  EXPECT_TRUE(a.turns.begin());
  a.turns.end();
}

TEST_F(TurnsTest, WaitEndsWhenItsProcessExitsInTheMiddleOfAStep) {
  Member a(options);
  ASSERT_TRUE(a.turns.begin());
  for (int round = 0; round < 50; ++round) {
    Member b(options);
    std::atomic<bool> waited{false};
    std::jthread waiter([&] {
      EXPECT_FALSE(b.turns.begin());
      waited = true;
    });
    std::jthread stepper([&] {
      while (!waited) static_cast<void>(b.turns.snapshot());
    });
    EXPECT_TRUE(kit::eventually([&] {
      static_cast<void>(a.turns.should_yield());  // a heartbeat
      return b.turns.waits() != 0;
    }));
    b.turns.leave_at_exit();
    EXPECT_TRUE(kit::eventually([&] {
      static_cast<void>(a.turns.should_yield());
      return waited.load();
    }));
    a.turns.end();  // lets one that still waits go on
    waiter.join();
    ASSERT_TRUE(a.turns.begin());
  }
}

TEST_F(TurnsTest, OneAtATimeHoldsTheDevice) {
  options.quantum = Scheduler::kMinRequest;
  std::atomic<int> holders{0};
  std::atomic<int> most{0};
  kit::on_threads(4, [&](std::size_t) {
    Member member(options);
    ASSERT_TRUE(member.joined) << member.problem;
    const auto hold = [&] {
      most = std::max(most.load(), ++holders);
      std::this_thread::sleep_for(std::chrono::microseconds(60));
      --holders;
    };
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(member.turns.begin());
      hold();
      if (member.turns.should_yield()) {
        ASSERT_TRUE(member.turns.yield());
      }
      hold();
      member.turns.end();
    }
  });
  EXPECT_EQ(most, 1);
}

// The processes of a tenant owe together.
TEST_F(TurnsTest, WhoSaysThatItWasIdleTakesNothingOffWhatOthersHaveUsed) {
  options.tenant = "tenant";
  options.cap = 100;
  Member a(options);
  Member b(options);
  ASSERT_TRUE(a.turns.begin());
  std::this_thread::sleep_for(std::chrono::milliseconds(4));
  a.turns.end();
  std::string problem;
  const auto reader = SharedFile::open(folder.path(), options.identity, problem);
  State state;
  const auto paid_at = [&] { return reader->read(state) ? state.participants[0].paid_at : 0; };
  ASSERT_TRUE(b.turns.begin());
  const Ns before = paid_at();
  for (int i = 0; i < 200; ++i) b.turns.credit(1'000'000'000);
  b.turns.end();
  EXPECT_GE(paid_at(), before);
}

TEST_F(TurnsTest, ReportsSayWhoHoldsAndWhatEachHasHad) {
  options.weight = 300;
  options.priority = Priority::high;
  Member a(options);
  ASSERT_TRUE(a.turns.begin());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  static_cast<void>(a.turns.yield());
  const auto sights = a.turns.snapshot();
  ASSERT_EQ(sights.size(), 1U);
  EXPECT_EQ(sights[0].pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(sights[0].weight, 300U);
  EXPECT_EQ(sights[0].priority, Priority::high);
  EXPECT_TRUE(sights[0].holds);
  EXPECT_GE(sights[0].used, 2'000'000U);
}

TEST_F(TurnsTest, AFileOfAnotherVersionIsLeftAloneAndSaid) {
  write_version(kFileVersion + 1);
  const std::string before = kit::file_contents(file);
  Member a(options);
  EXPECT_FALSE(a.joined);
  EXPECT_NE(a.problem.find("another version"), std::string::npos) << a.problem;
  EXPECT_FALSE(a.turns.begin());
  EXPECT_EQ(kit::file_contents(file).substr(0, before.size()), before);
}

TEST_F(TurnsTest, AFileThatHoldsSomethingElseIsLeftAloneAndSaid) {
  folder.write(SharedFile::name_for(options.identity), "somebody's notes");
  Member a(options);
  EXPECT_FALSE(a.joined);
  EXPECT_NE(a.problem.find("delete it"), std::string::npos) << a.problem;
  EXPECT_EQ(kit::file_contents(file), "somebody's notes");
}

TEST_F(TurnsTest, AVersionThatChangesEndsTheTurnsOfThoseThatWait) {
  Member a(options);
  Member b(options);
  ASSERT_TRUE(a.turns.begin());
  std::atomic<bool> over{false};
  std::jthread other([&] {
    EXPECT_FALSE(b.turns.begin());
    over = true;
  });
  // Again and again, since a step that has begun may still write its own.
  EXPECT_TRUE(kit::eventually([&] { return write_version(kFileVersion + 1), over.load(); }));
  EXPECT_FALSE(a.turns.yield());
  EXPECT_FALSE(a.turns.contended());
  a.turns.end();
}

TEST_F(TurnsTest, ATruncatedFileIsNoHarm) {
  options.timing.lease = 40'000'000;  // what was to wake somebody may be lost
  Member a(options);
  Member b(options);
  ASSERT_TRUE(a.turns.begin());
  std::jthread other([&] {
    EXPECT_TRUE(b.turns.begin());
    b.turns.end();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(truncate(file.c_str(), 0), 0);
  static_cast<void>(a.turns.should_yield());
  EXPECT_TRUE(a.turns.yield());
  a.turns.end();
  other.join();
  ASSERT_EQ(truncate(file.c_str(), 100), 0);
  EXPECT_TRUE(b.turns.begin());
  b.turns.end();
}

TEST_F(TurnsTest, GarbageInTheFileStopsNobody) {
  options.timing.lease = 40'000'000;  // what was to wake somebody may be lost
  Member a(options);
  Member b(options);
  std::atomic<bool> done{false};
  std::jthread vandal([&] {
    std::mt19937_64 random(1);
    while (!done) {
      std::array<std::uint64_t, 8> bytes{};
      for (std::uint64_t& each : bytes) each = random();
      // Not the magic number, the version and the lock in use, which end the turns or cost time.
      const off_t offset = 16 + static_cast<off_t>(random() % (SharedFile::kSize - 16 - sizeof bytes));
      write_bytes(bytes.data(), sizeof bytes, offset);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  const auto take_turns = [](Member& member) {
    for (int i = 0; i < 50; ++i) {
      if (!member.turns.begin()) static_cast<void>(member.turns.enter(member.problem));
      static_cast<void>(member.turns.should_yield());
      static_cast<void>(member.turns.yield());
      member.turns.end();
    }
  };
  {
    std::jthread first([&] { take_turns(a); });
    std::jthread second([&] { take_turns(b); });
  }
  done = true;
  vandal.join();
  static_cast<void>(a.turns.enter(a.problem));
  EXPECT_TRUE(a.turns.begin());
}

TEST_F(TurnsTest, AProcessThatIsStoppedInTheMiddleOfAStepStopsNobody) {
  Member a(options);
  Member b(options);
  // What a step holds meanwhile.
  const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_start = SharedFile::kLocks;
  lock.l_len = 1;
  ASSERT_EQ(fcntl(fd, F_OFD_SETLK, &lock), 0);
  EXPECT_TRUE(a.turns.begin());
  a.turns.end();
  EXPECT_TRUE(b.turns.begin());
  close(fd);
  b.turns.end();
  EXPECT_TRUE(a.turns.begin());
}

TEST_F(TurnsTest, AProgramThatClosesItsDescriptorsJoinsAnewAndTakesTurns) {
  const auto close_all = [this] {
    for (int fd = 200; fd < 300; ++fd) {
      struct stat theirs {};
      struct stat ours {};
      if (fstat(fd, &theirs) == 0 && stat(file.c_str(), &ours) == 0 && theirs.st_ino == ours.st_ino) {
        syscall(SYS_close, fd);  // which ThreadSanitizer need not know of
      }
    }
  };
  Member a(options);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(a.turns.begin());
    a.turns.end();
    close_all();
    EXPECT_TRUE(a.turns.begin()) << a.turns.problem();
    EXPECT_EQ(a.turns.problem(), "");
    close_all();  // also while it has the device
    static_cast<void>(a.turns.should_yield());
    a.turns.end();
  }
  ASSERT_TRUE(a.turns.begin());
  // Its old entries lapse once no thread has the file mapped any more, and it takes turns with others.
  Member b(options);
  EXPECT_TRUE(kit::eventually([&] {
    static_cast<void>(a.turns.begin());  // looks for the dead once a second
    a.turns.end();
    return b.turns.snapshot().size() == 2;
  }));
  expect_waiting_until_the_end(a, b);
}

}  // namespace
}  // namespace cleave::turns
