// Caps and tenants: what the scheduler gives to whom, on a simulated device in virtual time.
#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "tests/kit/sanitizers.h"
#include "tests/unit/turns/simulated_device.h"
#include "turns/scheduler.h"

namespace cleave::turns {
namespace {

struct Capped : testing::Test {
  Scheduler scheduler;
  SimulatedDevice device{scheduler};

  std::uint32_t add(unsigned percent, bool borrows = false, SimulatedDevice::Behaviour behaviour = {}) {
    const auto slot = device.add(kDefaultWeight, Priority::normal, behaviour);
    device.participant(slot).cap = static_cast<std::uint16_t>(10 * percent);
    device.participant(slot).borrows = borrows ? 1 : 0;
    return slot;
  }
  std::uint32_t add_member(const char* tenant, unsigned percent = 0, std::uint32_t weight = kDefaultWeight) {
    const auto slot = device.add_job(weight);
    set_tenant(device.participant(slot), tenant);
    device.participant(slot).cap = static_cast<std::uint16_t>(10 * percent);
    return slot;
  }
  void expect_within(double share, std::uint32_t slot, double points = 0.02) {
    EXPECT_LE(device.most_in(kSecond, slot), share + points);
    EXPECT_GE(device.least_in(kSecond, slot), share - points);
  }
  // As tests of a tenant see it: what all of these had.
  double used_by(std::initializer_list<std::uint32_t> slots) const {
    double sum = 0;
    for (const std::uint32_t slot : slots) sum += static_cast<double>(device.clients[slot].used);
    return sum;
  }
};

struct CappedAt : Capped, testing::WithParamInterface<unsigned> {
  double cap() const { return GetParam() / 100.0; }
};

TEST_P(CappedAt, AloneItHasItsCapInEverySecond) {
  const auto slot = add(GetParam());
  device.run_for(5 * kSecond);
  expect_within(cap(), slot);
}

TEST_P(CappedAt, BesideThreeGreedyNeighboursItHasNoMore) {
  const auto slot = add(GetParam());
  for (int i = 0; i < 3; ++i) device.add_job();
  device.run_for(5 * kSecond);
  EXPECT_LE(device.most_in(kSecond, slot), cap() + 0.02);
  EXPECT_NEAR(device.share(slot), std::min(cap(), 0.25), 0.01);
}

TEST_P(CappedAt, WhatItHoldsWithoutUsingDoesNotCount) {
  const auto slot = add(GetParam(), false, {.slice = kMillisecond, .idle = kMillisecond / 8});
  device.run_for(5 * kSecond);
  expect_within(cap(), slot);
  EXPECT_NEAR(static_cast<double>(device.participant(slot).used),
              static_cast<double>(device.clients[slot].used), kMillisecond);
}

// Readers take a fall for a new process, and count all of it once more.
TEST_P(CappedAt, TotalsNeverFall) {
  const auto slot = add(GetParam(), false, {.slice = kMillisecond, .idle = kMillisecond / 2});
  for (std::uint64_t before = 0; device.now < kSecond; before = device.participant(slot).used) {
    device.run_for(kMillisecond);
    ASSERT_GE(device.participant(slot).used, before);
  }
}

TEST_P(CappedAt, ItHasItsCapBesideNeighboursOfLittleWeight) {
  const auto slot = add(GetParam());
  for (int i = 0; i < 3; ++i) device.add_job(10);
  device.run_for(5 * kSecond);
  expect_within(cap(), slot);
}

TEST_P(CappedAt, WhoBorrowsHasAllWhileNobodyElseWantsIt) {
  const auto slot = add(GetParam(), true);
  device.run_for(kSecond);
  EXPECT_EQ(device.clients[slot].used, kSecond);
}

TEST_P(CappedAt, WhoBorrowsHasItsCapWhileOthersWantIt) {
  const auto slot = add(GetParam(), true);
  device.run_for(2 * kSecond);
  device.add_job(10);
  device.run_for(100 * kMillisecond);
  device.forget();
  device.run_for(5 * kSecond);
  expect_within(cap(), slot);
}

TEST_P(CappedAt, ALongKernelIsPaidOffAfterwards) {
  const auto slot =
      add(GetParam(), false, {.work = 300 * kMillisecond, .period = 0, .slice = 300 * kMillisecond});
  device.run_for(60 * kSecond);
  // A kernel and what it is paid off with are one period.
  EXPECT_NEAR(static_cast<double>(device.clients[slot].used) / 60e9, cap(), 0.015);
  const Ns period = 300 * kMillisecond * 100 / GetParam();
  EXPECT_LE(device.most_in(period, slot), cap() + 0.02);
}

TEST_P(CappedAt, PausesDoNotSaveUpDeviceTime) {
  const auto slot = add(GetParam(), false, {.work = 50 * kMillisecond, .period = 700 * kMillisecond});
  device.run_for(20 * kSecond);
  EXPECT_LE(device.most_in(kSecond, slot), cap() + 0.02);
}

INSTANTIATE_TEST_SUITE_P(Caps, CappedAt, testing::Values(10U, 30U, 50U));

TEST_F(Capped, OthersHaveWhatACapLeaves) {
  add(20);
  const auto other = device.add_job();
  device.run_for(2 * kSecond);
  EXPECT_NEAR(device.share(other), 0.8, 0.01);
  device.forget();
  device.run_for(kSecond);
  EXPECT_LE(device.clients[other].longest_wait, 2 * Scheduler::kBurst);
}

TEST_F(Capped, CapsOfNearlyAllLeaveSharesToTheWeights) {
  const auto light = device.add_job(100);
  const auto heavy = device.add_job(300);
  for (const auto slot : {light, heavy}) device.participant(slot).cap = kWholeDevice - 1;
  device.run_for(5 * kSecond);
  EXPECT_NEAR(device.share(light), 0.25, 0.01);
  EXPECT_NEAR(device.share(heavy), 0.75, 0.01);
}

TEST_F(Capped, AHigherClassDoesNotLiftACap) {
  const auto slot = add(30);
  device.participant(slot).priority = static_cast<std::uint8_t>(Priority::high);
  const auto other = device.add_job();
  device.run_for(5 * kSecond);
  expect_within(0.3, slot);
  EXPECT_NEAR(device.share(other), 0.7, 0.01);
}

TEST_F(Capped, CapsOfAllMayLeaveTheDeviceIdle) {
  const std::array slots = {add(10), add(20), add(30)};
  device.run_for(5 * kSecond);
  for (unsigned i = 0; i < slots.size(); ++i) expect_within(0.1 * (i + 1), slots[i]);
}

TEST_F(Capped, ACapThatIsLiftedLeavesNoClaimToTheTimeBefore) {
  const auto slot = add(5);
  const auto other = device.add_job();
  device.run_for(10 * kSecond);
  device.participant(slot).cap = 0;
  device.forget();
  device.run_for(kSecond);
  const double quanta = 2 * static_cast<double>(scheduler.quantum()) / 1e9;
  EXPECT_NEAR(device.share(other), 0.5, 0.01 + quanta) << "two quanta at most, as after a rest";
}

TEST_F(Capped, ProcessesOfATenantShareItsCap) {
  const auto a = add_member("alice", 30);
  const auto b = add_member("alice", 30);
  const auto other = device.add_job(10);
  device.run_for(5 * kSecond);
  EXPECT_NEAR(used_by({a, b}) / 5e9, 0.3, 0.015);
  EXPECT_NEAR(device.share(a), device.share(b), 0.02);
  EXPECT_NEAR(device.share(other), 0.7, 0.015);
}

TEST_F(Capped, ANewProcessDoesNotRenewItsTenantsCap) {
  const auto first = add_member("alice", 10);
  device.run_for(kSecond);
  device.forget();
  double used = 0;
  for (int i = 0; i < 20; ++i) {
    const auto next = device.add_job();
    set_tenant(device.participant(next), "alice");
    device.participant(next).cap = 100;
    scheduler.enter(device.view(), next);
    device.run_for(50 * kMillisecond);
  }
  for (const auto& client : device.clients) used += static_cast<double>(client.used);
  EXPECT_NEAR(used / 1e9, 0.1, 0.02);
  EXPECT_GT(device.clients[first].used, 0);
}

TEST_F(Capped, ATenantsWeightIsDividedAmongThoseThatWantTheDevice) {
  const auto a = add_member("alice");
  const auto b = add_member("alice");
  const auto c = add_member("alice");
  const auto d = add_member("alice");
  const auto bob = add_member("bob");
  const auto nobody = device.add_job();
  device.run_for(3 * kSecond);
  EXPECT_NEAR(used_by({a, b, c, d}) / 3e9, 1.0 / 3, 0.015);
  EXPECT_NEAR(device.share(bob), 1.0 / 3, 0.015);
  EXPECT_NEAR(device.share(nobody), 1.0 / 3, 0.015);
  for (const std::uint32_t slot : {a, b, c, d}) EXPECT_NEAR(device.share(slot), 1.0 / 12, 0.01);
}

TEST_F(Capped, ASmallWeightIsDividedAmongManyProcesses) {
  for (const auto& [weight, processes] : {std::pair{1U, 3}, std::pair{2U, 20}, std::pair{100U, 60}}) {
    if (kit::kSanitizer && processes > 20) continue;  // ten seconds
    Scheduler own;
    SimulatedDevice crowded(own);
    for (int i = 0; i < processes; ++i) set_tenant(crowded.participant(crowded.add_job(weight)), "alice");
    const auto other = crowded.add_job(weight);
    crowded.run_for(kSecond);
    crowded.forget();
    crowded.run_for(4 * kSecond);
    EXPECT_NEAR(crowded.share(other), 0.5, 0.01) << weight << " for " << processes;
  }
}

TEST_F(Capped, ATenantsWeightCountsWhole) {
  const auto a = add_member("alice", 0, 300);
  const auto b = add_member("alice", 0, 300);
  const auto bob = add_member("bob", 0, 100);
  device.run_for(3 * kSecond);
  EXPECT_NEAR(used_by({a, b}) / 3e9, 0.75, 0.015);
  EXPECT_NEAR(device.share(bob), 0.25, 0.015);
}

TEST_F(Capped, WhoRestsLeavesItsPartToItsTenant) {
  const auto busy = add_member("alice");
  const auto resting =
      device.add(kDefaultWeight, Priority::normal, {.work = kMillisecond, .period = 100 * kSecond});
  set_tenant(device.participant(resting), "alice");
  const auto bob = add_member("bob");
  device.run_for(3 * kSecond);
  EXPECT_NEAR(device.share(busy), 0.5, 0.015);
  EXPECT_NEAR(device.share(bob), 0.5, 0.015);
}

struct RestoredCap : testing::Test {
  RestoredCap() {
    device.participant(device.add_job()).cap = 100;
    mine().tenant = 7;
  }
  Participant& mine() { return device.participant(0); }
  View view() { return {device.header, device.view().participants, totals}; }

  Scheduler scheduler;
  SimulatedDevice device{scheduler};
  std::vector<TenantTotals> totals = std::vector<TenantTotals>(kMaxTenants);
  const Ns now = 100 * kSecond;
};

TEST_F(RestoredCap, NobodyOwesForWhatItHasNotHad) {
  const Remembered known = scheduler.remember(view(), 0, now);
  mine().paid_at = now + 50 * kSecond;
  mine().throttled = 1;
  scheduler.restore(view(), 0, known, now + kSecond);
  EXPECT_EQ(scheduler.ready_at(view(), 0, now + kSecond), now + kSecond);
}

TEST_F(RestoredCap, ProcessOfATenantOwesForOthersThatHaveLeft) {
  const Remembered known = scheduler.remember(view(), 0, now);
  mine().paid_at = now + 3 * kSecond;
  mine().throttled = 1;
  totals[device.header.tenants++] = {.tenant = 7, .processes = 1};
  scheduler.restore(view(), 0, known, now + kSecond);
  EXPECT_EQ(scheduler.ready_at(view(), 0, now + kSecond), now + 3 * kSecond);
  mine().paid_at = now + 50 * kSecond;
  scheduler.restore(view(), 0, known, now + kSecond);
  EXPECT_LE(mine().paid_at, now + 10 * kSecond)
      << "no more than the whole device for the time that has passed";
}

TEST_F(RestoredCap, HolderOwesForItsTime) {
  scheduler.ask(view(), 0, now);
  device.header.holder = 0;
  device.header.turn_began = device.header.charged_until = now;
  const Remembered known = scheduler.remember(view(), 0, now);
  scheduler.charge(view(), 0, now, now + kSecond);
  const Participant charged = mine();
  scheduler.restore(view(), 0, known, now + kSecond);
  EXPECT_EQ(mine(), charged);
}

}  // namespace
}  // namespace cleave::turns
