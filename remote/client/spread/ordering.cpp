#include "remote/client/spread/ordering.h"

#include <algorithm>

#include "remote/client/events.h"
#include "remote/client/spread/moves.h"

namespace cleave::remote::client::spread {

// Perhaps by a thread that reads, which may not send: so without the flush that a program's release brings.
Ordering::~Ordering() {
  for (const cl_command_queue queue : transfers_) {
    Object* const object = find(queue);
    if (object != nullptr && client.objects.release(*object) == objects::Objects::Left::none)
      client.objects.bury(*object);
  }
}

// Whether nothing before it, as far as `end`, is open.
bool Ordering::is_settled(const Entry& entry, Open::const_iterator end) const {
  for (const Held& wait : entry.waits) {
    const EventBody& event = body_of<EventBody>(*wait);
    if (event.queue == nullptr && !client::is_over(event)) return false;
  }
  const bool waits_for_all = entry.kind != Entry::Kind::command;
  const bool runs_in_turn = body_of<QueueBody>(*entry.queue).in_turn;
  return std::none_of(open_.begin(), end, [&](const std::shared_ptr<Entry>& other) {
    if (other->step->is_over()) return false;  // it has failed, or had nothing to be decided on
    if (&*other->queue == &*entry.queue &&
        (entry.in_order || runs_in_turn || waits_for_all || other->kind == Entry::Kind::barrier))
      return true;
    return std::any_of(entry.waits.begin(), entry.waits.end(),
                       [&](const Held& wait) { return other->step->follows(*wait); });
  });
}

// False: something is lost, and nothing was decided.
bool Ordering::decide(Entry& entry, Needs& needs) {
  for (const Entry::Used& one : entry.uses) {
    look_back(*one.contents);
    if (one.access != Access::overwrite && !is_in_reach(*one.contents, entry.part)) return false;
  }
  for (const Entry::Used& one : entry.uses)
    use(one.contents, entry.part, one.access, entry.step, entry.in_order ? &*entry.queue : nullptr, needs);
  return true;
}

Ordering::Now Ordering::take(const std::shared_ptr<Entry>& entry, Needs& needs) {
  const std::scoped_lock lock(mutex_);
  if (is_settled(*entry, open_.end())) return decide(*entry, needs) ? Now::settled : Now::lost;
  if (!entry->uses.empty()) {
    entry->gate = std::make_shared<Gate>();
    entry->gate->hold();
    for (const Entry::Used& one : entry->uses) {
      for (const Contents::Copy& copy : one.contents->copies) entry->copies.emplace_back(copy.memory);
    }
  }
  open_.push_back(entry);
  return Now::open;
}

void Ordering::take_back(const std::shared_ptr<Entry>& entry) {
  {
    const std::scoped_lock lock(mutex_);
    open_.remove(entry);
  }
  entry->step->cancel();  // which is all that those who look back have to know
}

std::vector<Ordering::Settled> Ordering::settle() {
  std::vector<Settled> settled;
  const std::scoped_lock lock(mutex_);
  for (auto at = open_.begin(); at != open_.end();) {
    const bool is_over = (*at)->step->is_over();
    if (!is_over && !is_settled(**at, at)) {
      ++at;
      continue;
    }
    Settled one{*at, {}, false};
    if (!is_over) one.is_lost = !decide(*one.entry, one.needs);
    settled.push_back(std::move(one));
    at = open_.erase(at);
  }
  return settled;
}

void Ordering::reconsider() {
  for (const Settled& one : settle()) {
    go(one.needs, one.entry->gate.get());
    if (one.entry->gate != nullptr) one.entry->gate->pass(one.is_lost ? kGone : CL_COMPLETE);
  }
}

void go(const Needs& needs, Gate* gate) {
  for (const auto& step : needs.steps) {
    if (gate != nullptr) gate->wait_for(*step);
  }
  for (const auto& move : needs.moves) start(move);
}

cl_int wait_for_end(cl_event handle) {
  const EventBody& event = body_of<EventBody>(*find(handle));
  event.connection->wait([&] { return client::is_over(event); });
  return client::is_over(event) ? std::min(event.status.load(), CL_SUCCESS) : kGone;
}

}  // namespace cleave::remote::client::spread
