// All that processes which take turns can do, in every order: an explicit-state model of the protocol, of a few processes.
//
// Each step of a process is atomic, as it is over the shared file. Between any two steps, and in the middle of writing a step's
// result, a process may be killed, and before any step it may be stopped for as long as one likes: the model lets time pass
// between any two steps. Which participant is next is left open, so the results hold for every policy. Time is counted in
// ticks; a check takes one, a lease four, a grace one. Caps may hold back all that ask. Numbers that only the policy and
// reports use are left out.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <ostream>
#include <string>
#include <unordered_set>
#include <vector>

#include "turns/protocol.h"

namespace cleave::turns::model {

inline constexpr Ns kTick = 1'000'000;
inline constexpr Timing kTiming{.check = kTick, .lease = 4 * kTick};

// Any policy: `choice` says which of those that ask is picked, and whether the holder gives way.
class AnyPolicy final : public Policy {
 public:
  void enter(View state, std::uint32_t slot) const override { state.participants[slot].asks = 0; }
  void ask(View state, std::uint32_t slot, Ns now) const override {
    state.participants[slot].asks = 1;
    // No two at once.
    Ns latest = now - kTick / 2;
    for (const Participant& p : state.participants) latest = std::max(latest, p.asked_at);
    state.participants[slot].asked_at = latest + 1;
  }
  void rest(View state, std::uint32_t slot) const override { state.participants[slot].asks = 0; }
  void charge(View, std::uint32_t, Ns, Ns) const override {}
  void credit(View, std::uint32_t, Ns, Ns) const override {}
  void change(View, std::uint32_t, std::uint32_t, Priority, Ns) const override {}
  [[nodiscard]] std::uint32_t pick(View state, Ns) const override {
    if (holds_back) return kNobody;
    std::uint32_t picked = kNobody;
    unsigned skip = choice;
    for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
      if (!asks(state, slot) || slot == last) continue;
      picked = slot;
      if (skip-- == 0) break;
    }
    return picked == kNobody && asks(state, last) ? last : picked;
  }
  [[nodiscard]] bool should_yield(View, Ns) const override { return yields; }
  [[nodiscard]] Ns ready_at(const View&, std::uint32_t, Ns now) const override {
    return holds_back ? now + 2 * kTick : now;
  }

  unsigned choice = 0;
  bool yields = false;
  bool holds_back = false;       // caps do not allow anybody to have the device now
  std::uint32_t last = kNobody;  // is picked only if no other participant requests the device
};

enum class Doing : std::uint8_t { nothing_yet, resting, sleeping, holding, dead };

// How many wakes without the device are allowed at most; the model keeps no larger number.
inline constexpr std::uint8_t kAllowance = 2;

// What is explored.
struct Scope {
  enum class Kills : std::uint8_t { none, between_steps, anywhere };
  Kills kills = Kills::anywhere;
  bool counts_wakes = true;  // needless ones
};

// For the names of tests.
inline std::ostream& operator<<(std::ostream& out, Scope::Kills kills) {
  constexpr std::array kNames = {"NobodyIsKilled", "KilledBetweenSteps", "KilledAnywhere"};
  return out << kNames[static_cast<std::size_t>(kills)];
}

struct Process {
  Doing doing = Doing::nothing_yet;
  bool idle = false;               // holds, with nothing to do
  bool woken = false;              // while it sleeps
  bool robbed = false;             // believes to hold a turn that was taken from it after a lease
  std::uint8_t allowed_wakes = 0;  // how often it may still be woken without getting the device
  Ns look_at = 0;
};

template <unsigned kProcesses>
struct Model final : Liveness {
  Model() = default;
  Model(const Model& other) : Liveness() { *this = other; }
  Model& operator=(const Model& other) {
    header = other.header;
    participants = other.participants;
    processes = other.processes;
    now = other.now;
    failures = other.failures;
    counted = other.counted;
    return *this;
  }

  Header header;
  std::array<Participant, kProcesses> participants;
  std::array<Process, kProcesses> processes;
  Ns now = 10 * kTick;
  std::string failures;
  bool counted = true;

  View view() { return {header, participants}; }
  static Self self(unsigned i) { return {i, i + 1}; }
  [[nodiscard]] bool is_alive(std::uint32_t slot) const override {
    return processes[slot].doing != Doing::dead && processes[slot].doing != Doing::nothing_yet;
  }
  [[nodiscard]] auto count(Doing doing) const {
    return std::count_if(processes.begin(), processes.end(),
                         [=](const Process& p) { return p.doing == doing; });
  }

  // How a step ends.
  enum class End : std::uint8_t { done, killed_before_waking, killed_while_writing };

  // Applies `step` to the shared state as process `i`; then the others that it wakes are awake.
  template <typename Step>
  Answer apply(unsigned i, End end, Step step) {
    const Header header_before = header;
    const auto before = participants;
    sanitize(view(), now);
    const Answer answer = step(view());
    const bool robs = header_before.holder != kNobody && header_before.holder != i &&
                      header.holder != header_before.holder && is_alive(header_before.holder);
    if (robs) rob(header_before);
    if (header.holder != header_before.holder && header.holder != kNobody && !is_alive(header.holder)) {
      failures += "a dead process got a turn; ";
    }
    wrote_header = header != header_before;
    woke = false;
    if (end == End::killed_while_writing) header = header_before;
    sanitize(view(), now);
    for (unsigned other = 0; other < kProcesses; ++other) {
      Process& process = processes[other];
      if (other == i || process.doing != Doing::sleeping) continue;
      const bool wakes = participants[other].wakes != before[other].wakes;
      woke |= wakes;
      if (wakes && end == End::done) process.woken = true;
      // The holder began to idle, or a guard was replaced: each may wake the guard once more.
      const bool idles = header.idle_until != header_before.idle_until;
      const bool guard_lost = header.guard != header_before.guard && header_before.guard != kNobody;
      // Somebody got the device after nobody had it, for want of somebody whose cap allowed for it: there is a guard again.
      const bool begins = header_before.holder == kNobody && header.holder != kNobody;
      // Or it got the device, and may lose it again before it looks.
      const bool granted = header.holder == other && header_before.holder != other;
      if ((idles || guard_lost || granted || begins) && process.allowed_wakes < kAllowance)
        ++process.allowed_wakes;
    }
    if (end != End::done) processes[i] = {.doing = Doing::dead};
    return answer;
  }

  // A turn may be taken away after a lease without a heartbeat, or after the grace of one that idles.
  void rob(const Header& before) {
    Process& holder = processes[before.holder];
    const bool grace_over = before.idle_until != 0 && before.idle_until <= now;
    if (!grace_over && now - std::max(before.pulse, before.turn_began) < kTiming.lease)
      failures += "a turn was taken too early; ";
    if (holder.doing == Doing::holding && !grace_over) holder.robbed = true;
  }

  void follow(unsigned i, const Answer& answer, End end, bool was_woken) {
    if (end != End::done) return;
    Process& p = processes[i];
    p.idle = false;
    p.robbed = false;
    p.woken = false;
    switch (answer.standing) {
      case Standing::holds:
        p.doing = Doing::holding;
        if (header.holder != i) failures += "it was told that it holds and does not; ";
        break;
      case Standing::waits:
        if (p.doing != Doing::sleeping) {
          p.allowed_wakes = 1;  // to become the guard
        } else if (was_woken) {
          if (p.allowed_wakes == 0 && counted) failures += "woken needlessly; ";
          if (p.allowed_wakes > 0) --p.allowed_wakes;
        }
        p.doing = Doing::sleeping;
        p.look_at = answer.look_at;
        break;
      case Standing::rests:
        p.doing = Doing::resting;
        break;
      case Standing::gone:
        failures += "an entry of a living process was lost; ";
        break;
    }
  }

  void join(unsigned i, End end) {
    processes[i] = {.doing = Doing::resting};
    apply(i, end, [&](View v) { return AnyPolicyProtocol().join(v, self(i), {}, now, *this), Answer{}; });
  }
  void leave(unsigned i, End end) {
    apply(i, end, [&](View v) { return AnyPolicyProtocol().leave(v, self(i), now, *this), Answer{}; });
    if (end == End::done) processes[i] = {};
  }
  void ask(unsigned i, End end) {
    const bool was_woken = processes[i].woken;
    follow(i, apply(i, end, [&](View v) { return AnyPolicyProtocol().ask(v, self(i), now, *this); }), end,
           was_woken);
  }
  void pass(unsigned i, End end) {
    follow(i, apply(i, end, [&](View v) { return AnyPolicyProtocol().pass(v, self(i), now, *this); }), end,
           false);
  }
  void idle(unsigned i, Ns grace, End end) {
    const Answer answer =
        apply(i, end, [&](View v) { return AnyPolicyProtocol().idle(v, self(i), grace, now, *this); });
    follow(i, answer, end, false);
    processes[i].idle = end == End::done && answer.standing == Standing::holds;
  }
  void kill(unsigned i) { processes[i] = {.doing = Doing::dead}; }

  // What holds in every state.
  void check() {
    unsigned holding = 0;
    for (unsigned i = 0; i < kProcesses; ++i) {
      const Process& p = processes[i];
      if (p.doing != Doing::holding || p.robbed) continue;
      const bool grace_over = p.idle && (header.holder != i || header.idle_until <= now);
      if (!grace_over) ++holding;
    }
    if (holding > 1) failures += "two hold the device; ";
  }

  // For people.
  [[nodiscard]] std::string text() const {
    std::string text = "holder " + std::to_string(header.holder) + " guard " + std::to_string(header.guard) +
                       " until " + std::to_string((header.guard_until - now) / kTick) + " pulse " +
                       std::to_string((header.pulse - now) / kTick) + " idle " +
                       std::to_string(header.idle_until != 0 ? (header.idle_until - now) / kTick : -99);
    for (unsigned i = 0; i < kProcesses; ++i) {
      const Process& p = processes[i];
      text += "; " + std::to_string(i) + (participants[i].asks != 0 ? " asks" : "");
      constexpr std::array kDoing = {"nothing yet", "resting", "sleeping", "holding", "dead"};
      text += std::string(" ") + kDoing[static_cast<std::size_t>(p.doing)] + (p.idle ? " idle" : "") +
              (p.woken ? " woken" : "") + (p.robbed ? " robbed" : "") + " look " +
              std::to_string((p.look_at - now) / kTick);
    }
    return text;
  }

  static AnyPolicy& policy() {
    static AnyPolicy instance;
    return instance;
  }
  static const Protocol& AnyPolicyProtocol() {
    static const Protocol instance(policy(), kTiming);
    return instance;
  }

  // Equal for states that differ only in how much time has passed, in numbers that no longer matter, or in which process is
  // which.
  [[nodiscard]] std::uint64_t key(Scope scope) const {
    std::array<unsigned, kProcesses> order;
    std::iota(order.begin(), order.end(), 0U);
    std::uint64_t smallest = key(scope, order);
    while (std::next_permutation(order.begin(), order.end()))
      smallest = std::min(smallest, key(scope, order));
    return smallest;
  }

  // The same, but for which process is which. Quick.
  [[nodiscard]] std::uint64_t labelled_key(Scope scope) const {
    std::array<unsigned, kProcesses> order;
    std::iota(order.begin(), order.end(), 0U);
    return key(scope, order);
  }

  bool wrote_header = false;  // the last step
  bool woke = false;

 private:
  // Whole ticks from now, rounded up, limited and counted from `low`.
  [[nodiscard]] std::uint64_t ticks(Ns time, Ns low, Ns high) const {
    const Ns whole = (time - now + 100 * kTick + kTick - 1) / kTick - 100;
    return static_cast<std::uint64_t>(std::clamp(whole, low, high) - low);
  }

  [[nodiscard]] std::uint64_t key(Scope scope, const std::array<unsigned, kProcesses>& order) const {
    std::uint64_t key = 0;
    const auto put = [&](std::uint64_t value, unsigned bits) { key = key << bits | value; };
    const auto place = [&](std::uint32_t slot) {
      return static_cast<std::uint64_t>(std::find(order.begin(), order.end(), slot) - order.begin());
    };
    put(place(header.holder), 2);
    put(place(header.guard), 2);
    put(header.holder != kNobody ? ticks(header.pulse, -4, 0) : 0, 3);
    put(header.idle_until != 0 ? 1 + ticks(header.idle_until, 0, 2) : 0, 2);
    put(header.guard != kNobody ? ticks(header.guard_until, -1, 2) : 0, 2);
    for (unsigned i = 0; i < kProcesses; ++i) {
      const Process& p = processes[order[i]];
      const Participant& entry = participants[order[i]];
      const bool sleeps = p.doing == Doing::sleeping;
      put(static_cast<std::uint64_t>(p.doing), 3);
      put((p.idle ? 1U : 0U) + (p.woken ? 2U : 0U) + (p.robbed ? 4U : 0U), 3);
      put(scope.counts_wakes && sleeps ? p.allowed_wakes : 0, 2);
      put(sleeps ? ticks(p.look_at, 0, 4) : 0, 3);
      put(entry.nonce == 0 ? 2 : entry.asks, 2);
      // Who has asked longer decides who becomes the guard.
      for (unsigned other = 0; other < i; ++other) {
        const Participant& before = participants[order[other]];
        put(entry.asks != 0 && before.asks != 0 && entry.asked_at < before.asked_at ? 1 : 0, 1);
      }
    }
    return key;
  }
};

// Visits every state that can be reached, by all steps and all choices of a policy. visit(model) may note failures; stops
// at the first one. Returns the number of states.
template <unsigned kProcesses, typename Visit>
std::size_t explore(Scope scope, Visit visit, std::string& failure) {
  using M = Model<kProcesses>;
  std::vector<M> open{M{}};
  open.back().counted = scope.counts_wakes;
  std::unordered_set<std::uint64_t> labelled;  // a quick answer for most states
  std::unordered_set<std::uint64_t> seen{open.back().key(scope)};
  while (!open.empty()) {
    const M from = open.back();
    open.pop_back();
    const auto arrive = [&](M& to) {
      to.check();
      const bool is_new = labelled.insert(to.labelled_key(scope)).second && seen.insert(to.key(scope)).second;
      if (!is_new && to.failures.empty()) return;
      visit(to);
      if (!to.failures.empty() && failure.empty()) failure = to.failures + "in " + to.text();
      open.push_back(to);
    };
    using End = typename M::End;
    // Performs `action` with each outcome and each choice of the policy that can make a difference.
    const auto step = [&](auto action, bool may_yield) {
      const unsigned choices = std::max(kProcesses - 1, 1U) * (may_yield ? 2U : 1U);
      // The last one: all are held back by their caps.
      for (unsigned choice = 0; choice <= choices; ++choice) {
        M::policy().choice = choice % std::max(kProcesses - 1, 1U);
        M::policy().holds_back = choice == choices;
        M::policy().yields = may_yield && choice >= std::max(kProcesses - 1, 1U);
        M::policy().last = kNobody;
        M to = from;
        action(to, End::done);
        const bool wrote_header = to.wrote_header;
        const bool woke = to.woke;
        arrive(to);
        M::policy().holds_back = choice == choices;
        if (scope.kills != Scope::Kills::anywhere) continue;
        for (const End end : {End::killed_before_waking, End::killed_while_writing}) {
          if (end == End::killed_before_waking ? !woke : !wrote_header) continue;
          to = from;
          action(to, end);
          arrive(to);
          M::policy().holds_back = choice == choices;
        }
      }
    };
    for (unsigned i = 0; i < kProcesses; ++i) {
      const Process& p = from.processes[i];
      const auto make = [&](auto member, bool may_yield = false) {
        step([&](M& to, End end) { (to.*member)(i, end); }, may_yield);
      };
      switch (p.doing) {
        case Doing::nothing_yet:
        case Doing::dead:
          make(&M::join);
          break;
        case Doing::resting:
          make(&M::ask);
          make(&M::leave);
          break;
        case Doing::sleeping:
          if (p.woken || p.look_at <= from.now) make(&M::ask);
          break;
        case Doing::holding:
          if (p.idle) {
            make(&M::ask);
            make(&M::leave);
          } else {
            make(&M::pass, true);
            step([&](M& to, End end) { to.idle(i, 0, end); }, false);
            step([&](M& to, End end) { to.idle(i, kTick, end); }, true);
          }
          break;
      }
      if (scope.kills != Scope::Kills::none && from.is_alive(i)) {
        M to = from;
        to.kill(i);
        arrive(to);
      }
    }
    M later = from;
    later.now += kTick;
    arrive(later);
    if (!failure.empty()) break;
  }
  return seen.size();
}

}  // namespace cleave::turns::model
