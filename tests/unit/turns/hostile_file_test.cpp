// Every step of a participant, on a file to which others do what they can: it returns, and what cannot be done any more is said.
#include "tests/kit/hostile_file.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kit/eventually.h"
#include "tests/kit/threads.h"
#include "tests/unit/turns/participant.h"

namespace cleave::turns {
namespace {

struct NamedStep {
  const char* name;
  std::function<void(Turns&)> step;
};

// Participants that nobody else keeps waiting: the lease ends the turn of a holder that the file invents.
Options short_leases(const std::string& folder) {
  Options options = options_in(folder);
  options.timing.lease = 20'000'000;
  return options;
}

void take_turn(Turns& turns) {
  const bool held = turns.begin();
  turns.end();
  if (held) turns.credit(1'000'000'000);
}

void give_way(Turns& turns) {
  if (!turns.begin()) return;
  static_cast<void>(turns.should_yield());
  static_cast<void>(turns.yield());
  turns.end(1'000'000);
}

const std::array<NamedStep, 8> kSteps{{
    {"join again",
     [](Turns& turns) {
       std::string problem;
       turns.leave();
       EXPECT_TRUE(turns.enter(problem) || !problem.empty());
     }},
    {"take a turn", take_turn},
    {"give way", give_way},
    {"look at the others",
     [](Turns& turns) {
       static_cast<void>(turns.snapshot());
       static_cast<void>(turns.wait_causes());
     }},
    {"another weight", [](Turns& turns) { turns.set_weight(300); }},
    {"another cap", [](Turns& turns) { turns.set_cap(500, true); }},
    {"leave", [](Turns& turns) { turns.leave(); }},
    {"exit", [](Turns& turns) { turns.leave_at_exit(); }},
}};

class HostileTurnsFile : public testing::TestWithParam<std::size_t> {
 protected:
  const kit::HostileFile attack = kit::hostile_files(SharedFile::kLocks)[GetParam()];
};

TEST_P(HostileTurnsFile, HoldsUpNoStep) {
  kit::on_threads(kSteps.size(), [&](std::size_t i) {
    const kit::TemporaryFolder folder;
    const Options options = short_leases(folder.path());
    Member a(options);
    Member b(options);
    const kit::Attack attacker(attack, folder.file(SharedFile::name_for(options.identity)));
    const std::string what = attack.name + ", " + kSteps[i].name;
    kit::must_return(what, [&] { kSteps[i].step(a.turns); });
    // A step that has failed is not tried again and again: that would hold up each launch.
    kit::must_return(what + ", all after that", [&] {
      for (const NamedStep& each : kSteps) each.step(a.turns);
    });
    // The destructors leave, too.
  });
}

TEST_P(HostileTurnsFile, HoldsUpNobodyWhoJoins) {
  const kit::TemporaryFolder folder;
  const Options options = short_leases(folder.path());
  const kit::Attack attacker(attack, folder.file(SharedFile::name_for(options.identity)));
  kit::must_return(attack.name, [&] {
    Member a(options);
    EXPECT_NE(a.joined, !a.problem.empty()) << a.problem;
    take_turn(a.turns);
    give_way(a.turns);
  });
}

INSTANTIATE_TEST_SUITE_P(Each, HostileTurnsFile,
                         testing::Range(std::size_t{0}, kit::hostile_files(0).size()));

TEST(HostileTurnsFile, LocksAreWaitedForOnce) {
  const kit::TemporaryFolder folder;
  const Options options = short_leases(folder.path());
  Member a(options);
  const kit::Attack attacker(kit::hostile_files(SharedFile::kLocks)[0],
                             folder.file(SharedFile::name_for(options.identity)));
  EXPECT_FALSE(a.turns.begin());
  EXPECT_EQ(a.turns.problem(), "another process keeps it locked");
  EXPECT_FALSE(a.turns.has_joined());
  EXPECT_FALSE(a.turns.contended()) << "launches go on without asking";
}

// What others write into the entry of one participant, once.
struct Forgery {
  std::string name;
  std::function<void(Header&, Participant&, Ns)> write;
};

constexpr std::array<std::int64_t, 6> kExtremes{
    std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), -1, 0, 1, kMaxSpread};

// Each field of the entry to extreme values, and what makes sense only together.
std::vector<Forgery> forgeries() {
  std::vector<Forgery> all;
  const auto add = [&all](const char* name, auto field) {
    for (const std::int64_t value : kExtremes) {
      all.push_back({std::string(name) + " = " + std::to_string(value), [=](Header&, Participant& p, Ns now) {
                       auto& written = field(p);
                       written = static_cast<std::decay_t<decltype(written)>>(
                           value == kMaxSpread ? now + value : value);
                     }});
    }
  };
  add(
      "virtual_time", [](Participant & p) -> auto& { return p.virtual_time; });
  add(
      "deadline", [](Participant & p) -> auto& { return p.deadline; });
  add(
      "lag", [](Participant & p) -> auto& { return p.lag; });
  add(
      "rested_at", [](Participant & p) -> auto& { return p.rested_at; });
  add(
      "request", [](Participant & p) -> auto& { return p.request; });
  add(
      "stretch", [](Participant & p) -> auto& { return p.stretch; });
  add(
      "asked_at", [](Participant & p) -> auto& { return p.asked_at; });
  add(
      "waits_since", [](Participant & p) -> auto& { return p.waits_since; });
  add(
      "tenant", [](Participant & p) -> auto& { return p.tenant; });
  add(
      "paid_at", [](Participant & p) -> auto& { return p.paid_at; });
  add(
      "weight", [](Participant & p) -> auto& { return p.weight; });
  add(
      "priority", [](Participant & p) -> auto& { return p.priority; });
  add(
      "asks", [](Participant & p) -> auto& { return p.asks; });
  add(
      "cap", [](Participant & p) -> auto& { return p.cap; });
  add(
      "borrows", [](Participant & p) -> auto& { return p.borrows; });
  add(
      "throttled", [](Participant & p) -> auto& { return p.throttled; });
  add(
      "idle", [](Participant & p) -> auto& { return p.idle; });
  const auto owe = [](Participant& p, Ns now) {
    p.throttled = 1;
    p.paid_at = now + 1'000'000 * kMaxSpread;
  };
  all.push_back({"it owes", [=](Header&, Participant& p, Ns now) { owe(p, now); }});
  all.push_back({"it owes by a cap", [=](Header&, Participant& p, Ns now) { owe(p, now), p.cap = 1; }});
  all.push_back({"it has held the device for ever", [](Header& h, Participant& p, Ns) {
                   p.asks = 1;
                   p.cap = 1;
                   h.turn_began = h.charged_until = h.idle_until = 1;
                 }});
  all.push_back({"its grace has been long", [](Header& h, Participant& p, Ns now) {
                   p.asks = 1;
                   h.turn_began = h.charged_until = 1;
                   h.idle_until = now;
                 }});
  return all;
}

// Of the participant in the first slot.
void forge(const Forgery& forgery, const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  Header header;
  Participant entry;
  ASSERT_EQ(pread(fd, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  ASSERT_EQ(pread(fd, &entry, sizeof entry, sizeof header), static_cast<ssize_t>(sizeof entry));
  forgery.write(header, entry, monotonic_now());
  static_cast<void>(!pwrite(fd, &entry, sizeof entry, sizeof header));
  static_cast<void>(!pwrite(fd, &header, sizeof header, 0));
  close(fd);
}

// Far longer than a step, also on a busy machine, and far shorter than what a forged entry could owe: a minute, or an hour.
constexpr Ns kAtOnce = 10'000'000'000;

using Forge = std::function<void()>;

// The cap of the participant whose entry is forged.
class ForgedEntry : public testing::TestWithParam<std::uint16_t> {
 protected:
  // It gets its turn at once all the same, and nothing of the forgery is left.
  static void each(const std::function<void(Turns&, Turns&, const Forge&)>& take_turn) {
    const std::vector<Forgery> all = forgeries();
    constexpr std::size_t kThreads = 8;
    kit::on_threads(kThreads, [&](std::size_t thread) {
      for (std::size_t i = thread; i < all.size(); i += kThreads) {
        const kit::TemporaryFolder folder;
        Options options = short_leases(folder.path());
        options.cap = GetParam();
        Member a(options);
        options.cap = 0;
        Member b(options);
        const std::string path = folder.file(SharedFile::name_for(options.identity));
        const Ns from = monotonic_now();
        kit::must_return(all[i].name, [&] { take_turn(a.turns, b.turns, [&] { forge(all[i], path); }); });
        EXPECT_LT(monotonic_now() - from, kAtOnce) << all[i].name;
        EXPECT_TRUE(a.turns.has_joined()) << all[i].name;
        EXPECT_EQ(a.turns.problem(), "") << all[i].name;
        const std::vector<ParticipantReport> seen = b.turns.snapshot();
        ASSERT_EQ(seen.size(), 2U) << all[i].name;
        EXPECT_EQ(seen[0].cap, GetParam()) << all[i].name;
        EXPECT_EQ(seen[0].weight, kDefaultWeight) << all[i].name;
        EXPECT_EQ(seen[0].priority, Priority::normal) << all[i].name;
      }
    });
  }
};

TEST_P(ForgedEntry, HoldsUpNoFirstTurn) {
  each([](Turns& a, Turns&, const Forge& forge) {
    forge();
    EXPECT_TRUE(a.begin());
    a.end();
  });
}

TEST_P(ForgedEntry, HoldsUpNobodyWhoHasRested) {
  for (const Ns grace : {0, 1'000'000}) {
    each([grace](Turns& a, Turns&, const Forge& forge) {
      EXPECT_TRUE(a.begin());
      a.end(grace);
      forge();
      EXPECT_TRUE(a.begin());
      a.end();
    });
  }
}

TEST_P(ForgedEntry, HoldsUpNoHolder) {
  each([](Turns& a, Turns&, const Forge& forge) {
    EXPECT_TRUE(a.begin());
    forge();
    static_cast<void>(a.should_yield());
    EXPECT_TRUE(a.yield());
    forge();
    EXPECT_TRUE(a.yield());
    a.end();
  });
}

TEST_P(ForgedEntry, HoldsUpNobodyWhoWaits) {
  each([](Turns& a, Turns& b, const Forge& forge) {
    EXPECT_TRUE(b.begin());
    std::atomic<bool> had_its_turn{false};
    std::jthread waiter([&] {
      EXPECT_TRUE(a.begin());
      a.end();
      had_its_turn = true;
    });
    // Unless it has taken the lease of one that a busy machine has stopped.
    EXPECT_TRUE(
        kit::eventually([&] { return static_cast<void>(b.should_yield()), a.waits() != 0 || had_its_turn; }));
    forge();
    b.end();
    waiter.join();
    EXPECT_TRUE(a.begin()) << "again, since it may have taken that lease before its entry was forged";
    a.end();
  });
}

TEST_P(ForgedEntry, HoldsUpNobodyBesideOneThatComputes) {
  each([](Turns& a, Turns& b, const Forge& forge) {
    std::atomic<bool> done{false};
    std::jthread other([&] {
      while (!done && b.begin()) {
        while (!done && !b.should_yield()) std::this_thread::yield();
        static_cast<void>(b.yield());
        b.end();
      }
    });
    forge();
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(a.begin());
      static_cast<void>(a.yield());
      a.end();
    }
    done = true;
  });
}

INSTANTIATE_TEST_SUITE_P(Each, ForgedEntry, testing::Values(0, 500));

// Participants whom somebody has invented, each with a lock as if it lived.
class Invented {
 public:
  Invented(const std::string& path, std::uint32_t first)
      : file_(open(path.c_str(), O_RDWR | O_CLOEXEC)), first_(first) {
    for (std::uint32_t slot = first_; slot < kMaxParticipants; ++slot)
      kit::lock_range(file_, F_WRLCK, SharedFile::kSlotLocks + slot, 1);
    ask();
    const std::uint32_t all = kMaxParticipants;
    static_cast<void>(!pwrite(file_, &all, sizeof all, offsetof(Header, slots)));
  }
  Invented(const Invented&) = delete;
  Invented& operator=(const Invented&) = delete;
  ~Invented() { close(file_); }

  void ask() const {
    for (std::uint32_t slot = first_; slot < kMaxParticipants; ++slot) {
      Participant entry;
      entry.nonce = slot;
      entry.asks = 1;
      const auto offset = static_cast<off_t>(sizeof(Header) + slot * sizeof entry);
      static_cast<void>(!pwrite(file_, &entry, sizeof entry, offset));
    }
  }
  [[nodiscard]] std::uint64_t turns() const {
    Header header;
    return pread(file_, &header, sizeof header, 0) == sizeof header ? header.turn : 0;
  }

 private:
  const int file_;
  const std::uint32_t first_;
};

// They get the device and do nothing, each for a lease.
TEST(HostileTurnsFile, InventedParticipantsHoldUpNoTurnForLong) {
  for (const bool again : {false, true}) {
    const kit::TemporaryFolder folder;
    const Options options = short_leases(folder.path());
    Member a(options);
    const Invented invented(folder.file(SharedFile::name_for(options.identity)), 1);
    std::jthread asks_again([&](const std::stop_token& ended) {
      while (again && !ended.stop_requested()) invented.ask();
    });
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t before = invented.turns();
      EXPECT_TRUE(a.turns.begin());
      EXPECT_LT(invented.turns() - before, 16U);
      a.turns.end();
    }
  }
}

Ns processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Ns{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Each look who lives walks all locks of the file, and a step may look at every participant again and again.
TEST(HostileTurnsFile, VeryManyLocksHoldUpNoStep) {
  const kit::TemporaryFolder folder;
  const Options options = options_in(folder.path());
  const Member a(options);
  const std::string path = folder.file(SharedFile::name_for(options.identity));
  const int locks = open(path.c_str(), O_RDWR | O_CLOEXEC);
  constexpr off_t kBehind = off_t{1} << 40U;
  for (off_t i = 4'000; i-- > 0;) kit::lock_range(locks, F_RDLCK, kBehind + 2 * i, 1);
  const Invented invented(path, 1);
  std::string problem;
  const auto file = SharedFile::open(folder.path(), options.identity, problem);
  ASSERT_TRUE(file) << problem;
  bool all_live = true;
  const Ns before = processor_time();
  static_cast<void>(file->update([&](View, Ns) {
    for (int i = 0; i < 50'000; ++i) all_live &= file->is_alive(1 + i % (kMaxParticipants - 1));
  }));
  EXPECT_LT(processor_time() - before, 300'000'000) << "for all looks, it takes seconds";
  EXPECT_TRUE(all_live);
  close(locks);
}

// Who waits and is passed over with them waits on.
TEST(HostileTurnsFile, ThoseWhoLiveGetTheirTurnsBesideInventedOnes) {
  const kit::TemporaryFolder folder;
  const Options options = short_leases(folder.path());
  constexpr std::uint32_t kMembers = 4;
  std::array<std::unique_ptr<Member>, kMembers> members;
  for (auto& each : members) each = std::make_unique<Member>(options);
  const Invented invented(folder.file(SharedFile::name_for(options.identity)), kMembers);
  kit::on_threads(kMembers, [&](std::size_t i) {
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_TRUE(members[i]->turns.begin());
      members[i]->turns.end();
      invented.ask();
    }
    EXPECT_TRUE(members[i]->turns.has_joined());
  });
}

}  // namespace
}  // namespace cleave::turns
