#include "turns/state.h"

#include <algorithm>
#include <limits>

#include "base/text/display_text.h"
#include "base/text/hash.h"

namespace cleave::turns {
namespace {

// No guard, idle holder or heartbeat makes others wait longer than that, whatever the file says.
constexpr Ns kLongestPromise = 100'000'000;

// A time that is further ahead is none: limited anew by each reader, it would never pass.
Ns promise(Ns time, Ns now) { return time < 0 || time > now + kLongestPromise ? 0 : time; }

// How long a longest wait is remembered, at least.
constexpr Ns kPeriod = 10'000'000'000;

std::uint64_t near(std::uint64_t origin, std::uint64_t time) {
  return origin + static_cast<std::uint64_t>(std::clamp(distance(origin, time), -kMaxSpread, kMaxSpread));
}

void sanitize(Participant& p, const Header& header, Ns now) {
  if (p.priority >= kPriorities) p.priority = static_cast<std::uint8_t>(Priority::normal);
  p.asks = p.asks != 0 ? 1 : 0;
  p.weight = std::clamp(p.weight, 1U, kMaxWeight);
  const std::uint64_t origin = header.origin[p.priority];
  p.virtual_time = near(origin, p.virtual_time);
  p.deadline = near(origin, p.deadline);
  p.lag = std::clamp(p.lag, -kMaxSpread, kMaxSpread);
  p.rested_at = near(header.fair_clock, p.rested_at);
  p.request = std::clamp<Ns>(p.request, 0, kMaxSpread);
  p.stretch = std::clamp<Ns>(p.stretch, 0, kMaxSpread);
  p.asked_at = std::clamp<Ns>(p.asked_at, 0, now);
  p.waits_since = std::clamp<Ns>(p.waits_since, 0, now);
  p.waits_from = std::clamp<Ns>(p.waits_from, 0, now);
  p.cap = std::min(p.cap, kWholeDevice);
  p.borrows = p.borrows != 0 ? 1 : 0;
  p.throttled = p.throttled != 0 ? 1 : 0;
  p.declares = p.declares != 0 ? 1 : 0;
  p.paid_at = std::clamp<Ns>(p.paid_at, 0, now + kLongestPause);
  for (Ns* const time : {&p.waited, &p.longest_wait, &p.longest_before, &p.capped, &p.imposed})
    *time = std::clamp<Ns>(*time, 0, std::numeric_limits<Ns>::max() / 2);
}

void sanitize(TenantTotals& totals) {
  for (Ns* const time : {&totals.waited, &totals.capped, &totals.imposed})
    *time = std::clamp<Ns>(*time, 0, std::numeric_limits<Ns>::max() / 2);
}

std::string printable(std::span<const char> text) {
  return base::displayable_ascii({text.begin(), std::find(text.begin(), text.end(), '\0')});
}

}  // namespace

void sanitize(View state, Ns now) {
  Header& h = state.header;
  const auto size = static_cast<std::uint32_t>(state.participants.size());
  h.slots = std::min(h.slots, size);
  h.tenants = std::min(h.tenants, static_cast<std::uint32_t>(state.totals.size()));
  for (TenantTotals& totals : state.totals.first(h.tenants)) sanitize(totals);
  for (Participant& p : state.participants.first(h.slots)) sanitize(p, h, now);
  for (Participant& p : state.participants.subspan(h.slots)) p = {};
  if (!asks(state, h.holder)) h.holder = kNobody;
  if (!asks(state, h.guard) || h.guard == h.holder) h.guard = kNobody;
  // Another time namespace may be ahead of this one.
  for (Ns* const past : {&h.turn_began, &h.charged_until}) *past = std::clamp<Ns>(*past, 0, now);
  h.pulse = std::min(promise(h.pulse, now), now);
  h.charged_until = std::max(h.charged_until, h.turn_began);
  h.guard_until = promise(h.guard_until, now);
  h.idle_until = promise(h.idle_until, now);
  for (Ns& owed : h.owed) owed = std::clamp<Ns>(owed, -kMostOwing, kMostOwed);
}

bool is_declared(const View& state) {
  const auto members = state.participants.first(state.header.slots);
  return std::any_of(members.begin(), members.end(),
                     [](const Participant& p) { return p.nonce != 0 && p.declares != 0; });
}

void add_to_totals(View state, const Participant& p) {
  Header& h = state.header;
  if (p.used == 0 && p.turns == 0) return;
  const auto known = state.totals.first(h.tenants);
  auto found = std::find_if(known.begin(), known.end(),
                            [&](const TenantTotals& each) { return each.tenant == p.tenant; });
  if (found == known.end()) {
    // The last place is kept for those without a tenant.
    const bool fits = h.tenants + (p.tenant != 0 ? 1 : 0) < state.totals.size();
    if (!fits && p.tenant == 0) return;
    if (!fits) {
      Participant nobodys = p;
      nobodys.tenant = 0;
      nobodys.tenant_name = {};
      return add_to_totals(state, nobodys);
    }
    state.totals[h.tenants] = {.tenant = p.tenant, .name = p.tenant_name};
    found = state.totals.begin() + h.tenants++;
  }
  found->used += p.used;
  found->turns += p.turns;
  found->waited = sum_of(found->waited, p.waited);
  found->capped = sum_of(found->capped, p.capped);
  found->imposed = sum_of(found->imposed, p.imposed);
  ++found->processes;
}

void note_wait(Participant& p, Ns waited, Ns now) {
  p.waited += waited;
  const Ns age = now - p.waits_from;
  if (age >= kPeriod) {
    p.longest_before = age < 2 * kPeriod ? p.longest_wait : 0;
    p.longest_wait = 0;
    p.waits_from = now;
  }
  p.longest_wait = std::max(p.longest_wait, waited);
}

Ns longest_recent_wait(const Participant& p, Ns now) {
  const Ns age = now - p.waits_from;
  if (age >= 2 * kPeriod) return 0;
  return age >= kPeriod ? p.longest_wait : std::max(p.longest_wait, p.longest_before);
}

void set_tenant(Participant& p, std::string_view name) {
  p.tenant = name.empty() ? 0 : std::max<std::uint64_t>(base::hash_of(name), 1);
  p.tenant_name = {};
  std::copy_n(name.begin(), std::min(name.size(), p.tenant_name.size()), p.tenant_name.begin());
}

std::string tenant_name(const Participant& p) { return printable(p.tenant_name); }
std::string tenant_name(const TenantTotals& totals) { return printable(totals.name); }

void set_device_name(Header& header, std::string_view name) {
  header.device = {};
  std::copy_n(name.begin(), std::min(name.size(), header.device.size()), header.device.begin());
}

std::string device_name(const Header& header) { return printable(header.device); }

}  // namespace cleave::turns
