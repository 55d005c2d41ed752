#include "turns/wait_log.h"

#include <algorithm>

namespace cleave::turns {

void WaitLog::Parts::add(const Part& part) {
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
  const auto same = std::find_if(all.begin(), end, [&](const Part& each) {
    return each.group == part.group && (part.group != 0 || each.pid == part.pid);
  });
  if (same != end) {
    if (same->pid != part.pid) same->pid = 0;
    same->waited += part.waited;
  } else if (count < all.size()) {
    all[count++] = part;
  } else {
    Part& rest = all.back();
    rest.tenant = {};
    rest.group = rest.pid = 0;
    rest.waited += part.waited;
  }
}

void WaitLog::follow(View state, std::uint32_t slot, Standing standing, Ns now) {
  Entry& entry = found_;
  entry.what = Entry::What::nothing;
  using What = Entry::What;
  if (standing == Standing::waits) {
    if (waits_) return;
    entry.what = What::begins;
    entry.nonces = {};
    entry.at = now;
    entry.capped = state.participants[slot].capped;
    for (std::uint32_t other = 0; other < state.header.slots; ++other) {
      entry.nonces[other] = state.participants[other].nonce;
      entry.used[other] = state.participants[other].used;
    }
    return;
  }
  if (!waits_) return;
  entry.what = standing == Standing::holds ? What::ends : What::stops;
  if (entry.what == What::stops) return;
  entry.parts.count = 0;
  entry.at = now;
  entry.capped = state.participants[slot].capped;
  // While its own cap held it back, it waited for no other participant.
  const Ns own = std::max<Ns>(entry.capped - capped_since_, 0);
  const Ns most = std::max<Ns>(now - since_ - own, 0);
  const auto part_of = [&](std::uint32_t other) -> Ns {
    const Participant& p = state.participants[other];
    if (other == slot || p.nonce == 0) return 0;
    // A participant that has joined since has had all of its time since.
    const std::uint64_t before = nonces_[other] == p.nonce ? used_[other] : 0;
    return std::clamp<Ns>(static_cast<Ns>(p.used - before), 0, now - since_);
  };
  Ns sum = 0;
  for (std::uint32_t other = 0; other < state.header.slots; ++other) sum += part_of(other);
  for (std::uint32_t other = 0; other < state.header.slots; ++other) {
    const double scale = sum > most ? static_cast<double>(most) / static_cast<double>(sum) : 1;
    const Ns part = static_cast<Ns>(static_cast<double>(part_of(other)) * scale);
    if (part <= 0) continue;
    Participant& p = state.participants[other];
    p.imposed += part;
    entry.parts.add({p.tenant_name, p.tenant, p.pid, part});
  }
}

void WaitLog::note() {
  const Entry& entry = found_;
  using What = Entry::What;
  if (entry.what == What::nothing) return;
  waits_ = entry.what == What::begins;
  if (waits_) {
    since_ = entry.at;
    capped_since_ = entry.capped;
    nonces_ = entry.nonces;
    used_ = entry.used;
  }
  if (entry.what != What::ends) return;
  waited_ += entry.at - since_;
  capped_ += std::max<Ns>(entry.capped - capped_since_, 0);
  for (std::size_t i = 0; i < entry.parts.count; ++i) parts_.add(entry.parts.all[i]);
}

WaitCauses WaitLog::causes() const {
  WaitCauses causes{waited_, capped_, {}};
  for (std::size_t i = 0; i < parts_.count; ++i) {
    const Part& part = parts_.all[i];
    Participant named;
    named.tenant_name = part.tenant;
    causes.others.push_back({tenant_name(named), part.pid, part.waited});
  }
  return causes;
}

}  // namespace cleave::turns
