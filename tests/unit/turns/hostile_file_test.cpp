// Every step of a participant, on a file to which others do what they can: it returns, and what cannot be done any more is said.
#include "tests/kit/hostile_file.h"

#include <array>
#include <functional>
#include <string>

#include <gtest/gtest.h>

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

void show_all(Turns& turns) {
  for (const Need need : {Need::unknown, Need::waits}) static_cast<void>(turns.need(need));
  turns.withdraw_need();
  for (int i = 0; i < 3; ++i) turns.show_piece(1'000'000'000);
  turns.show_busy();
}

const std::array<NamedStep, 9> kSteps{{
    {"join again",
     [](Turns& turns) {
       std::string problem;
       turns.leave();
       EXPECT_TRUE(turns.enter(problem) || !problem.empty());
     }},
    {"take a turn", take_turn},
    {"give way", give_way},
    {"show needs", show_all},
    {"look at the others",
     [](Turns& turns) {
       static_cast<void>(turns.others());
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

}  // namespace
}  // namespace cleave::turns
