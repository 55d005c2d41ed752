#include "interpose/turns/turn_holder.h"

#include <new>
#include <utility>

namespace cleave::interpose {
namespace {

// How often the others are checked.
constexpr turns::Ns kAskAgain = 50'000;

}  // namespace

bool TurnHolder::is_wanted_back() {
  const turns::Ns at = now();
  if (at - asked_at_ < kAskAgain) return false;
  asked_at_ = at;
  return turns_.should_yield();
}

void TurnHolder::give_back() {
  holds_ = false;
  note_use();
  turns_.end();
  log_.gave_away(clock_.now(), "nothing to do");
}

void TurnHolder::note_launch() {
  if (idle_since_ != 0) grace_.observe_gap(now() - std::exchange(idle_since_, 0));
}

void TurnHolder::note_idle() {
  idle_since_ = now();
  if (unused_since_ == 0) unused_since_ = idle_since_;
  if (grace_.grace() == 0) give_back();
}

turns::Ns TurnHolder::keep_idle(turns::Ns at) {
  if (!is_idle()) note_idle();
  if (!holds_) return 0;
  const turns::Ns left = idle_since_ + grace_.grace() - at;
  if (left > 0 && !turns_.should_yield()) return left;
  give_back();
  return 0;
}

void TurnHolder::note_use() {
  if (const turns::Ns since = std::exchange(unused_since_, 0); since != 0) turns_.credit(now() - since);
}

void TurnHolder::reset_in_child() noexcept {
  new (&changed_) base::CondVar;  // the parent's threads waited on it
  changing_ = false;
  idle_since_ = unused_since_ = 0;
  log_.reset();
  holds_ = false;
}

}  // namespace cleave::interpose
