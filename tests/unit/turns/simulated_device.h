// A device in virtual time whose participants take turns by a policy, at slice boundaries.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "turns/policy.h"

namespace cleave::turns {

constexpr Ns kMicrosecond = 1'000;
constexpr Ns kMillisecond = 1'000'000;
constexpr Ns kSecond = 1'000'000'000;
constexpr Ns kForever = Ns{1} << 60;

class SimulatedDevice {
 public:
  // What a participant does: `work` of device time, then nothing until `period` after it asked; and again.
  struct Behaviour {
    Ns work = kForever;
    Ns period = 0;
    Ns slice = 250 * kMicrosecond;
    bool yields = true;
    Ns idle = 0;  // at the end of each slice it holds the device without using it
  };
  struct Client {
    Behaviour behaviour;
    Ns next = 0;
    Ns left = 0;
    std::optional<Ns> waits_since;
    Ns used = 0;
    Ns longest_wait = 0;
    std::vector<std::pair<Ns, Ns>> spans{};  // when it had the device
  };

  explicit SimulatedDevice(const Policy& policy) : policy_(policy), participants_(kMaxParticipants) {}

  std::uint32_t add(std::uint32_t weight, Priority priority, Behaviour behaviour) {
    const std::uint32_t slot = header.slots++;
    Participant& p = participants_[slot];
    p.nonce = slot + 1;
    p.weight = weight;
    p.priority = static_cast<std::uint8_t>(priority);
    policy_.enter(view(), slot);
    clients.push_back({.behaviour = behaviour, .next = now, .waits_since = {}});
    return slot;
  }
  std::uint32_t add_job(std::uint32_t weight = kDefaultWeight, Priority priority = Priority::normal) {
    return add(weight, priority, {});
  }

  void run_for(Ns duration) {
    const Ns end = now + duration;
    while (now < end) step(end);
  }

  // The share of `slot` in all that was used since forget().
  [[nodiscard]] double share(std::uint32_t slot) const {
    Ns sum = 0;
    for (const Client& client : clients) sum += client.used;
    return static_cast<double>(clients[slot].used) / static_cast<double>(sum);
  }
  void forget() {
    for (Client& client : clients) {
      client.used = client.longest_wait = 0;
      client.spans.clear();
    }
    since_ = now;
  }
  // The most, and the least, that it had of the device in any window of this length since forget(), as a share.
  [[nodiscard]] double most_in(Ns window, std::uint32_t slot) const { return extreme(window, slot, true); }
  [[nodiscard]] double least_in(Ns window, std::uint32_t slot) const { return extreme(window, slot, false); }
  View view() { return {header, participants_}; }
  Participant& participant(std::uint32_t slot) { return participants_[slot]; }

  Header header;
  std::vector<Client> clients;
  Ns now = 1;

 private:
  void step(Ns end) {
    arrive();
    if (header.holder == kNobody) grant(policy_.pick(view(), now));
    if (header.holder == kNobody) return void(now = std::min({end, next_arrival(), next_ready()}));
    // One slice, during which others may arrive.
    Client& client = clients[header.holder];
    const Ns boundary = now + std::min(client.behaviour.slice, client.left);
    const Ns idle = std::min(client.behaviour.idle, boundary - now);
    client.left -= boundary - now;
    client.used += boundary - idle - now;
    if (!client.spans.empty() && client.spans.back().second == now) {
      client.spans.back().second = boundary - idle;
    } else {
      client.spans.emplace_back(now, boundary - idle);
    }
    for (Ns arrival = next_arrival(); arrival < boundary; arrival = next_arrival()) {
      now = std::max(now, arrival);
      arrive();
    }
    now = boundary;
    settle();
    if (idle != 0) policy_.credit(view(), header.holder, idle, now);
    if (client.left == 0) {
      policy_.rest(view(), header.holder);
      client.next = std::max(client.next + client.behaviour.period, now);
      header.holder = kNobody;
    } else if (client.behaviour.yields && policy_.should_yield(view(), now)) {
      client.waits_since = now;
      grant(policy_.pick(view(), now));
    }
  }

  void settle() {
    if (header.holder != kNobody) policy_.charge(view(), header.holder, header.charged_until, now);
    header.charged_until = now;
  }

  void arrive() {
    for (std::uint32_t slot = 0; slot < clients.size(); ++slot) {
      Client& client = clients[slot];
      if (participants_[slot].asks != 0 || client.next > now) continue;
      settle();
      policy_.ask(view(), slot, now);
      client.left = client.behaviour.work;
      client.waits_since = now;
    }
  }

  [[nodiscard]] Ns next_arrival() const {
    Ns next = kForever;
    for (std::uint32_t slot = 0; slot < clients.size(); ++slot) {
      if (participants_[slot].asks == 0) next = std::min(next, clients[slot].next);
    }
    return next;
  }

  // When somebody who waits for its cap may have the device.
  [[nodiscard]] Ns next_ready() {
    Ns next = kForever;
    for (std::uint32_t slot = 0; slot < clients.size(); ++slot) {
      if (participants_[slot].asks != 0)
        next = std::min(next, std::max(policy_.ready_at(view(), slot, now), now + 1));
    }
    return next;
  }

  [[nodiscard]] double extreme(Ns window, std::uint32_t slot, bool most) const {
    const auto& spans = clients[slot].spans;
    const auto used_in = [&](Ns from) {
      Ns sum = 0;
      auto span =
          std::partition_point(spans.begin(), spans.end(), [&](auto one) { return one.second <= from; });
      for (; span != spans.end() && span->first < from + window; ++span)
        sum += std::min(span->second, from + window) - std::max(span->first, from);
      return static_cast<double>(sum) / static_cast<double>(window);
    };
    double found = used_in(since_);
    for (const auto& [begin, end] : spans) {
      for (const Ns from : {begin, end, begin - window, end - window}) {
        if (from < since_ || from + window > now) continue;
        const double used = used_in(from);
        found = most ? std::max(found, used) : std::min(found, used);
      }
    }
    return found;
  }

  void grant(std::uint32_t slot) {
    header.holder = slot;
    header.turn_began = header.charged_until = now;
    if (slot == kNobody) return;
    Client& client = clients[slot];
    if (client.waits_since) client.longest_wait = std::max(client.longest_wait, now - *client.waits_since);
    client.waits_since.reset();
  }

  const Policy& policy_;
  std::vector<Participant> participants_;
  Ns since_ = 1;
};

}  // namespace cleave::turns
