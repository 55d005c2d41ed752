// The protocol and the scheduler together, in virtual time: participants that sleep look when they are woken, or when they
// have said that they would, and not before. So what is lost while nobody looks shows here.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/turns/simulated_device.h"
#include "turns/protocol.h"
#include "turns/scheduler.h"

namespace cleave::turns {
namespace {

struct Everybody final : Liveness {
  [[nodiscard]] bool is_alive(std::uint32_t /*slot*/) const override { return true; }
};

class SleepingParticipants {
 public:
  // What a participant does: `work` of device time, then nothing for `pause`; and again. Before each step it may be late by
  // as much as `late`, as on a busy machine.
  struct Behaviour {
    std::uint16_t cap = 0;
    bool borrows = false;
    Ns work = kForever;
    Ns pause = 0;
    Ns late = 0;
  };
  struct Client {
    Behaviour behaviour;
    Standing standing = Standing::rests;
    Ns left = 0;
    Ns at = 0;  // its next step
    std::uint32_t wakes = 0;
    Ns used = 0;
    Ns last_had = 0;  // when it last had the device
    Ns longest_without = 0;
  };

  std::uint32_t add(const Behaviour& behaviour) {
    const auto slot = static_cast<std::uint32_t>(clients.size());
    Participant newcomer;
    newcomer.cap = behaviour.cap;
    newcomer.borrows = behaviour.borrows ? 1 : 0;
    protocol_.join(view(), self(slot), newcomer, now, everybody_);
    clients.push_back({.behaviour = behaviour, .at = now, .last_had = now});
    return slot;
  }

  void run_for(Ns duration) {
    for (const Ns end = now + duration; now < end;) step();
  }

  std::vector<Client> clients;
  Ns now = 1;
  Ns lost = 0;  // while nobody had the device, and somebody waited who could have had it

 private:
  static constexpr Ns kSlice = 250 * kMicrosecond;
  static Self self(std::uint32_t slot) { return {slot, slot + 1}; }
  View view() { return {header_, participants_}; }

  // Who is next, by the time of its next step; one that has been woken is at once.
  std::uint32_t next() {
    std::uint32_t next = 0;
    for (std::uint32_t slot = 0; slot < clients.size(); ++slot) {
      Client& client = clients[slot];
      const bool woken = client.standing == Standing::waits && participants_[slot].wakes != client.wakes;
      if (woken) {
        client.wakes = participants_[slot].wakes;
        client.at = std::min(client.at, now + delay(client));
      }
      if (client.at < clients[next].at) next = slot;
    }
    return next;
  }

  void step() {
    const std::uint32_t slot = next();
    Client& client = clients[slot];
    count_lost(std::max(now, client.at));
    now = std::max(now, client.at);
    if (client.standing == Standing::holds) {
      client.used += kSlice;
      client.left -= kSlice;
      client.longest_without = std::max(client.longest_without, now - client.last_had);
      client.last_had = now;
      follow(slot, client.left <= 0 ? protocol_.idle(view(), self(slot), 0, now, everybody_)
                                    : protocol_.pass(view(), self(slot), now, everybody_));
    } else {
      if (client.standing == Standing::rests) client.left = client.behaviour.work;
      follow(slot, protocol_.ask(view(), self(slot), now, everybody_));
    }
  }

  void count_lost(Ns until) {
    if (header_.holder != kNobody) return;
    Ns since = until;
    for (std::uint32_t slot = 0; slot < clients.size(); ++slot) {
      if (clients[slot].standing != Standing::waits) continue;
      const bool borrows = clients[slot].behaviour.borrows;
      since = std::min(since, borrows ? now : scheduler_.ready_at(view(), slot, now));
    }
    lost += until - std::max(since, now);
  }

  void follow(std::uint32_t slot, const Answer& answer) {
    Client& client = clients[slot];
    client.standing = answer.standing;
    if (answer.standing == Standing::holds) client.at = now + kSlice;
    if (answer.standing == Standing::rests) client.at = now + client.behaviour.pause;
    if (answer.standing == Standing::waits) {
      client.wakes = answer.wakes;
      client.at = answer.look_at;
    }
    client.at += delay(client);
  }

  Ns delay(const Client& client) {
    return client.behaviour.late != 0
               ? static_cast<Ns>(random_() % static_cast<std::uint64_t>(client.behaviour.late))
               : 0;
  }

  const Scheduler scheduler_;
  const Protocol protocol_{scheduler_};
  const Everybody everybody_{};
  Header header_;
  std::vector<Participant> participants_{kMaxParticipants};
  std::mt19937_64 random_{11};
};

// While somebody else holds the device, one that its cap holds back looks when the cap allows for it, too: by then the other may
// have nothing to do, and nobody has the device.
TEST(ProtocolInTime, NoneThatItsCapAllowsForWaitsForADeviceThatNobodyHas) {
  const Ns once = kMillisecond;
  for (const SleepingParticipants::Behaviour other :
       {SleepingParticipants::Behaviour{.work = 2 * once, .pause = 18 * once},
        SleepingParticipants::Behaviour{.work = 30 * once, .pause = 70 * once}}) {
    SleepingParticipants device;
    device.add({.cap = 500});
    device.add({.cap = 10});
    device.add({.cap = 300, .work = 20 * once, .pause = 20 * once});
    device.add(other);
    device.run_for(20 * kSecond);
    EXPECT_LT(device.lost, 20 * once) << "of 20 s";
  }
}

// Two that may borrow, and have all of the device together: neither waits without end, however late they are.
TEST(ProtocolInTime, BorrowersAreNeverHeldBackTogether) {
  for (const Ns late : {Ns{0}, kMillisecond, 30 * kMillisecond, 300 * kMillisecond}) {
    for (const Ns work : {kForever, 3 * kMillisecond, 60 * kMillisecond}) {
      SleepingParticipants device;
      const Ns pause = work == kForever ? 0 : kMillisecond;
      device.add({.cap = 250, .borrows = true, .work = work, .pause = pause, .late = late});
      device.add({.cap = 750, .borrows = true, .work = work, .pause = pause, .late = late});
      device.run_for(40 * kSecond);
      EXPECT_EQ(device.lost, 0);
      for (const auto& client : device.clients)
        EXPECT_LT(client.longest_without, kSecond + 10 * late)
            << "late by " << late << ", " << work << " at a time";
    }
  }
}

}  // namespace
}  // namespace cleave::turns
