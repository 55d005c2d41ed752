#include "lane.h"

namespace fuzz {

Lane::Lane(const Platform& platform, unsigned context, Random random, std::size_t items, Facts& facts)
    : context_(context), buffers_(platform.contexts[context], random, items, facts) {}

std::vector<cl_event> Lane::waits(const OwnQueue& queue, bool always, Facts& facts) {
  if (queue_ == nullptr) return {};
  const bool elsewhere = queue_ != &queue;
  if (!left_ && !elsewhere && !queue.out_of_order && !(always && last_ != nullptr)) return {};
  mark(facts);
  if (elsewhere && !left_) facts.add("flush", clFlush(queue_->handle.get()));
  return {last_};
}

void Lane::mark(Facts& facts) {
  if (last_ != nullptr) return;
  markers_.emplace_back();
  facts.add("mark", clEnqueueMarkerWithWaitList(queue_->handle.get(), 0, nullptr, markers_.back().out()));
  last_ = markers_.back().get();
}

void Lane::done(const OwnQueue& queue, cl_event event) {
  queue_ = &queue;
  last_ = event;
  left_ = false;
}

void Lane::leave(const OwnQueue& queue, Facts& facts) {
  if (queue_ != &queue || left_) return;
  mark(facts);
  facts.add("flush", clFlush(queue.handle.get()));
  left_ = true;
}

void Lane::finish(Facts& facts) const {
  if (left_) facts.add("left", clWaitForEvents(1, &last_));
}

}  // namespace fuzz
