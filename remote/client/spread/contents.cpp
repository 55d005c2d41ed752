#include "remote/client/spread/contents.h"

#include <algorithm>
#include <optional>

#include "remote/client/spread/moves.h"
#include "remote/client/spread/ordering.h"

namespace cleave::remote::client::spread {
namespace {

using Copy = Contents::Copy;
using Use = Contents::Use;

bool can_give(const Contents& contents, std::size_t part) {
  const Copy& copy = contents.copies[part];
  return copy.is_newest && copy.memory != nullptr && contents.ordering->is_there(part);
}

// The part from which the contents come: one that has them already, if possible. Where none can give them, as
// its server has gone just now, one whose move will fail.
std::size_t source_of(const Contents& contents) {
  std::size_t gone = 0;
  std::size_t found = contents.copies.size();
  for (std::size_t part = 0; part < contents.copies.size(); ++part) {
    const Copy& copy = contents.copies[part];
    if (copy.is_newest) gone = part;
    if (!can_give(contents, part)) continue;
    if (copy.arrival == nullptr || copy.arrival->is_over()) return part;
    found = part;
  }
  return found != contents.copies.size() ? found : gone;
}

// Of the uses on a queue in order the newest that was sent after the others, and has an event, stands for
// them: a server tells the ends of such a queue's commands in their order, also where one has failed early.
void merge_uses(Copy& copy, Use& use) {
  Use* last = nullptr;
  for (Use& one : copy.uses) {
    if (one.queue != use.queue) continue;
    use.follows_all = use.follows_all && one.step->is_sent();
    if (one.follows_all && one.step->has_event()) last = &one;
  }
  if (last == nullptr) return;
  const Step* const kept = last->step.get();
  for (const Use* one = copy.uses.data(); one != last; ++one)
    last->writes = last->writes || (one->queue == use.queue && one->writes);
  bool is_before = true;
  std::erase_if(copy.uses, [&](const Use& one) {
    is_before = is_before && one.step.get() != kept;
    return is_before && one.queue == use.queue;
  });
}

void note_use(Copy& copy, Use use) {
  if (use.queue != nullptr) merge_uses(copy, use);
  if (copy.uses.size() >= copy.worth_pruning) {
    std::erase_if(copy.uses, [](const Use& one) { return one.step->is_over(); });
    copy.worth_pruning = std::max<std::size_t>(16, 2 * copy.uses.size());
  }
  copy.uses.push_back(std::move(use));
}

void need(std::vector<std::shared_ptr<Step>>& steps, const std::shared_ptr<Step>& step) {
  if (step != nullptr && !step->is_over()) steps.push_back(step);
}

// The copy is read when it is written no more, and comes where nobody uses what was there.
std::shared_ptr<Move> move_to(const std::shared_ptr<Contents>& contents, std::size_t part) {
  const std::size_t source = source_of(*contents);
  Copy& from = contents->copies[source];
  Copy& to = contents->copies[part];
  auto move = std::make_shared<Move>(contents, source, part);
  for (const Use& one : from.uses) {
    if (one.writes) need(move->needs, one.step);
  }
  for (const Use& one : to.uses) need(move->needs, one.step);
  need(move->needs, from.arrival);
  need(move->needs, to.arrival);
  if (from.arrival != nullptr) move->givers.push_back(from.arrival);
  if (!contents->overwritings.empty() && contents->overwritings.back().part == source)
    move->givers.push_back(contents->overwritings.back().step);
  note_use(from, {move->done, nullptr, false});
  to.is_newest = true;
  to.arrival = move->done;
  return move;
}

// Whether it is over and did not do what it was to do, nor did what was to change it afterwards. None:
// something of that is under way.
std::optional<bool> is_void(const Contents::Overwriting& one) {
  if (!one.step->is_over()) return {};
  if (!one.step->came_to_nothing()) return false;
  if (!std::all_of(one.since.begin(), one.since.end(), [](const auto& step) { return step->is_over(); }))
    return {};
  return true;
}

// What was before one that came to nothing; if others have built on that, there is nothing.
std::vector<Contents::Overwriting::Before> before(const Contents::Overwriting& failed) {
  const bool is_built_on = !std::all_of(failed.since.begin(), failed.since.end(),
                                        [](const auto& step) { return step->came_to_nothing(); });
  auto all = failed.before;
  for (auto& one : all) one.was_newest = one.was_newest && !is_built_on;
  return all;
}

// Those that are known to have ended need no place in the list but the last.
void fold(std::vector<Contents::Overwriting>& all) {
  auto first = all.begin();
  for (; std::next(first) != all.end(); ++first) {
    const auto is_first_void = is_void(*first);
    if (!is_first_void) break;
    if (*is_first_void) std::next(first)->before = before(*first);
  }
  all.erase(all.begin(), first);
}

// Remembers what is the newest before a command overwrites it. Not where that changes nothing: if it comes to
// nothing then, the contents are what they were.
void note_overwriting(Contents& contents, std::size_t part, const std::shared_ptr<Step>& step) {
  Contents::Overwriting one{step, part, {}, {}};
  bool is_only_newest = true;
  for (std::size_t i = 0; i < contents.copies.size(); ++i) {
    const Copy& copy = contents.copies[i];
    is_only_newest = is_only_newest && copy.is_newest == (i == part);
    one.before.push_back({copy.is_newest, copy.arrival});
  }
  if (contents.overwritings.empty() && is_only_newest) return;
  contents.overwritings.push_back(std::move(one));
  fold(contents.overwritings);
}

}  // namespace

void look_back(Contents& contents) {
  auto& all = contents.overwritings;
  while (!all.empty()) {
    const auto is_last_void = is_void(all.back());
    if (!is_last_void) return;
    if (!*is_last_void) return all.clear();
    const auto earlier = before(all.back());
    all.pop_back();
    for (std::size_t part = 0; part < contents.copies.size(); ++part) {
      contents.copies[part].is_newest = earlier[part].was_newest;
      contents.copies[part].arrival = earlier[part].arrival;  // later ones come to nothing, too (givers)
    }
  }
}

bool is_in_reach(const Contents& contents, std::size_t part) {
  return can_give(contents, part) || can_give(contents, source_of(contents));
}

void use(const std::shared_ptr<Contents>& contents, std::size_t part, Access access,
         const std::shared_ptr<Step>& step, const Object* queue, Needs& needs) {
  Copy& here = contents->copies[part];
  if (access != Access::overwrite && !here.is_newest) needs.moves.push_back(move_to(contents, part));
  need(needs.steps, here.arrival);
  if (access == Access::overwrite) {
    note_overwriting(*contents, part, step);
    if (here.arrival != nullptr && here.arrival->is_over()) here.arrival.reset();
  } else if (access == Access::write && !contents->overwritings.empty()) {
    contents->overwritings.back().since.push_back(step);
  }
  if (access != Access::read) {
    for (Copy& copy : contents->copies) copy.is_newest = false;
    here.is_newest = true;
  }
  note_use(here, {step, queue, access != Access::read});
}

void forget_copy(Contents& contents, std::size_t part, const std::shared_ptr<Step>& arrival) {
  const std::scoped_lock lock(contents.ordering->mutex());
  if (contents.copies[part].arrival == arrival) contents.copies[part].is_newest = false;
}

}  // namespace cleave::remote::client::spread
