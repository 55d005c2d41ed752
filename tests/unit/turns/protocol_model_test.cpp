// The properties of the protocol in every state that two or three processes can reach (protocol_model.h).
#include "tests/unit/turns/protocol_model.h"

#include <gtest/gtest.h>

#include "tests/kit/sanitizers.h"

namespace cleave::turns::model {
namespace {

// A process that sleeps gets the device within this many ticks, even if all others are stopped for good and the policy
// prefers each of them: a lease and a check for each, and one look of its own.
template <unsigned kProcesses>
constexpr int kPatience = 5 * static_cast<int>(kProcesses) + 5;

template <unsigned kProcesses>
bool is_served_alone(Model<kProcesses> state, unsigned i) {
  auto& policy = Model<kProcesses>::policy();
  policy.choice = 0;
  policy.yields = policy.holds_back = false;
  policy.last = i;
  for (int tick = 0; tick < kPatience<kProcesses>; ++tick) {
    if (state.processes[i].woken || state.processes[i].look_at <= state.now) {
      state.ask(i, Model<kProcesses>::End::done);
    }
    if (state.processes[i].doing == Doing::holding) return true;
    state.now += kTick;
  }
  return false;
}

// Whether each that sleeps gets the device by being woken alone, while no time passes. Who waits for its cap waits for time.
template <unsigned kProcesses>
bool wakes_suffice(Model<kProcesses> state) {
  using M = Model<kProcesses>;
  if (state.header.holder == kNobody) return true;
  M::policy().choice = 0;
  M::policy().yields = M::policy().holds_back = false;
  M::policy().last = kNobody;
  const auto act = [&](unsigned i) {
    const Process& p = state.processes[i];
    if (p.doing == Doing::holding) return state.idle(i, 0, M::End::done), true;
    if (p.doing == Doing::sleeping && p.woken) return state.ask(i, M::End::done), true;
    return false;
  };
  for (int round = 0; round < 4 * static_cast<int>(kProcesses); ++round) {
    for (unsigned i = 0; i < kProcesses; ++i) static_cast<void>(act(i));
  }
  return state.count(Doing::sleeping) == 0;
}

// Time passes, and nobody is stopped: who is woken, or whose time has come, looks at once. Holders show signs of life but keep
// the device, unless they idle.
template <unsigned kProcesses>
void run_promptly(Model<kProcesses>& state, int ticks) {
  using M = Model<kProcesses>;
  M::policy().choice = 0;
  M::policy().yields = M::policy().holds_back = false;
  M::policy().last = kNobody;
  for (int tick = 0; tick <= ticks; ++tick) {
    if (tick > 0) state.now += kTick;
    for (unsigned i = 0; i < 2 * kProcesses; ++i) {
      const Process& p = state.processes[i % kProcesses];
      const bool due = p.woken || p.look_at <= state.now;
      if (p.doing == Doing::holding && !p.idle) state.pass(i % kProcesses, M::End::done);
      if (p.doing == Doing::sleeping && due) state.ask(i % kProcesses, M::End::done);
    }
  }
}

// Whether a holder that is killed is noticed within two checks, and one that idles within a check of its grace's end.
template <unsigned kProcesses>
bool is_noticed(Model<kProcesses> state) {
  const std::uint32_t holder = state.header.holder;
  if (holder == kNobody || state.count(Doing::sleeping) == 0) return true;
  const bool idles =
      state.processes[holder].idle && state.header.idle_until != 0 && state.count(Doing::dead) == 0;
  const bool died = !state.is_alive(holder) && state.count(Doing::dead) == 1;
  if (!idles && !died) return true;
  run_promptly(state, 2);
  return state.header.holder != holder && state.header.holder != kNobody;
}

// Whether within a lease somebody who lives is the guard, if anybody waits.
template <unsigned kProcesses>
bool is_guarded(Model<kProcesses> state) {
  run_promptly(state, 6);
  return state.count(Doing::sleeping) == 0 || state.is_alive(state.header.guard);
}

template <unsigned kProcesses>
std::size_t check_all(Scope scope, std::string& failure) {
  return explore<kProcesses>(
      scope,
      [&](Model<kProcesses>& state) {
        if (!state.failures.empty()) return;
        for (unsigned i = 0; i < kProcesses; ++i) {
          if (state.processes[i].doing != Doing::sleeping) continue;
          if (!is_served_alone(state, i)) state.failures += "one waits for ever; ";
        }
        if (!is_guarded(state)) state.failures += "nobody guards the holder; ";
        if (scope.kills == Scope::Kills::anywhere) return;
        if (!is_noticed(state)) state.failures += "a holder's end is noticed late; ";
        if (scope.kills == Scope::Kills::none && !wakes_suffice(state))
          state.failures += "one is not woken; ";
      },
      failure);
}

struct ProtocolModel : testing::TestWithParam<Scope::Kills> {
  // With everything at once there would be three times as many states.
  static Scope scope() { return {.kills = GetParam(), .counts_wakes = GetParam() != Scope::Kills::anywhere}; }
};

TEST_P(ProtocolModel, TwoProcessesTakeTurnsInEveryOrder) {
  std::string failure;
  EXPECT_GT(check_all<2>(scope(), failure), 100U);
  EXPECT_EQ(failure, "");
}

TEST_P(ProtocolModel, ThreeProcessesTakeTurnsInEveryOrder) {
  if (kit::kSanitizer && GetParam() != Scope::Kills::none)
    GTEST_SKIP() << "takes seconds with sanitizers, and the same code runs in the others";
  std::string failure;
  EXPECT_GT(check_all<3>(scope(), failure), 1'000U);
  EXPECT_EQ(failure, "");
}

INSTANTIATE_TEST_SUITE_P(Turns, ProtocolModel,
                         testing::Values(Scope::Kills::none, Scope::Kills::between_steps,
                                         Scope::Kills::anywhere),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace cleave::turns::model
