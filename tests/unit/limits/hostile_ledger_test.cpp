// Every step of a booking, on a ledger to which others do what they can: it returns, and no more is booked than the limit.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "limits/memory_ledger.h"
#include "tests/kit/hostile_file.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::limits {
namespace {

using Answer = MemoryLedger::Answer;

struct HostileLedger : testing::TestWithParam<std::size_t> {
  const kit::HostileFile attack = kit::hostile_files(MemoryLedger::kLock)[GetParam()];
  kit::TemporaryFolder folder;
  std::string problem;
  std::string path = folder.file(MemoryLedger::name_for("device"));

  std::unique_ptr<MemoryLedger> open() {
    return MemoryLedger::open(folder.path(), "device", "alice", problem);
  }
};

TEST_P(HostileLedger, HoldsUpNoBooking) {
  auto ledger = open();
  ASSERT_TRUE(ledger) << problem;
  const kit::Attack attacker(attack, path);
  kit::must_return(attack.name, [&] {
    // So many that each of them may not wait.
    for (int i = 0; i < 1'000; ++i) {
      if (ledger->book(1, 5'000) == Answer::beyond) continue;
      EXPECT_LE(ledger->bytes(), 5'000U);
    }
    ledger->release(1);
    EXPECT_LE(read_ledgers(folder.path()).size(), MemoryLedger::kSlots) << attack.name;
    ledger.reset();
  });
}

TEST_P(HostileLedger, HoldsUpNobodyWhoJoins) {
  const kit::Attack attacker(attack, path);
  kit::must_return(attack.name, [&] {
    const auto ledger = open();
    EXPECT_NE(ledger == nullptr, problem.empty());
    if (ledger && ledger->book(1, 500) != Answer::beyond) {
      EXPECT_LE(ledger->bytes(), 500U);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Each, HostileLedger, testing::Range(std::size_t{0}, kit::hostile_files(0).size()));

}  // namespace
}  // namespace cleave::limits
