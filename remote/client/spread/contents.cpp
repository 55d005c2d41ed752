#include "remote/client/spread/contents.h"

#include <algorithm>

#include "remote/client/spread/moves.h"
#include "remote/client/spread/ordering.h"

namespace cleave::remote::client::spread {
namespace {

using Copy = Contents::Copy;
using Use = Contents::Use;

bool can_give(const Copy& copy) {
  const Object* const part = copy.memory == nullptr ? nullptr : find(copy.memory);
  return copy.is_newest && part != nullptr && body_of<MemoryBody>(*part).connection->alive();
}

// The part from which the contents come; the number of parts if there is none. One that has them already, if
// possible.
std::size_t source_of(const Contents& contents) {
  std::size_t found = contents.copies.size();
  for (std::size_t part = 0; part < contents.copies.size(); ++part) {
    const Copy& copy = contents.copies[part];
    if (!can_give(copy)) continue;
    if (copy.arrival == nullptr || copy.arrival->is_over()) return part;
    found = part;
  }
  return found;
}

// Of the uses on a queue in order the newest that was sent after the others, and has an event, stands for
// them.
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
  move->source_arrival = from.arrival;
  note_use(from, {move->done, nullptr, false});
  to.is_newest = true;
  to.arrival = move->done;
  return move;
}

}  // namespace

bool is_in_reach(const Contents& contents, std::size_t part) {
  return can_give(contents.copies[part]) || source_of(contents) != contents.copies.size();
}

void use(const std::shared_ptr<Contents>& contents, std::size_t part, Access access,
         const std::shared_ptr<Step>& step, const Object* queue, Needs& needs) {
  Copy& here = contents->copies[part];
  if (access != Access::overwrite && !here.is_newest) needs.moves.push_back(move_to(contents, part));
  need(needs.steps, here.arrival);
  if (access == Access::overwrite && here.arrival != nullptr && here.arrival->is_over()) here.arrival.reset();
  if (access != Access::read) {
    for (Copy& copy : contents->copies) copy.is_newest = false;
    here.is_newest = true;
    ++contents->version;
  }
  note_use(here, {step, queue, access != Access::read});
}

void forget_copy(Contents& contents, std::size_t part, const std::shared_ptr<Step>& arrival) {
  const std::scoped_lock lock(contents.ordering->mutex());
  if (contents.copies[part].arrival == arrival) contents.copies[part].is_newest = false;
}

}  // namespace cleave::remote::client::spread
