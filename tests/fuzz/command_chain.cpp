#include "command_chain.h"

namespace fuzz {

CommandChain::CommandChain(const Platform& platform, unsigned context, Random random, std::size_t items,
                           Observations& observations)
    : context_(context), buffers_(platform.contexts[context], random, items, observations) {}

Waits CommandChain::waits(const QueueSlot& queue, bool always, Observations& observations) {
  if (queue_ == nullptr) return {};
  const bool elsewhere = queue_ != &queue;
  if (!left_ && !elsewhere && !queue.out_of_order && !(always && last_ != nullptr)) return {};
  mark(observations);
  if (elsewhere && !left_) observations.add("flush", clFlush(queue_->handle));
  return {last_};
}

void CommandChain::mark(Observations& observations) {
  if (last_ != nullptr) return;
  Event& marker = markers_.emplace_back(cl.event());
  observations.add("mark", cl.marker(queue_->handle, {}, marker.out()));
  last_ = marker;
}

void CommandChain::done(const QueueSlot& queue, cl_event event) {
  queue_ = &queue;
  last_ = event;
  left_ = false;
}

void CommandChain::leave(const QueueSlot& queue, Observations& observations) {
  if (queue_ != &queue || left_) return;
  mark(observations);
  observations.add("flush", clFlush(queue.handle));
  left_ = true;
}

void CommandChain::finish(Observations& observations) const {
  if (left_) observations.add("left", cl.wait({last_}));
}

}  // namespace fuzz
