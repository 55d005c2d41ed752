#include "launch/pipeline.h"

#include <array>

namespace cleave::launch {
namespace {

// The events that one slice waits for, at most: each helper's newest, and the slice before on its own queue.
class WaitList {
 public:
  void add(cl_event event) {
    if (event != nullptr) events_[count_++] = event;
  }
  [[nodiscard]] cl_uint count() const { return count_; }
  [[nodiscard]] const cl_event* data() const { return count_ == 0 ? nullptr : events_.data(); }

 private:
  std::array<cl_event, kMostHelpers + 1> events_{};
  cl_uint count_ = 0;
};

class Pipeline {
 public:
  Pipeline(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
           std::span<Lane> helpers)
      : next_(next),
        clock_(clock),
        launch_(launch),
        cut_(cut),
        helpers_(helpers),
        chained_(!launch.in_order || launch.wants_event) {
    own_.queue = launch.queue;
  }

  Outcome carry_out() && {
    if (launch_.in_order && !mark_what_came_before()) {
      outcome_.refused = true;
      return std::move(outcome_);
    }
    const base::Nanoseconds start = clock_.now();
    const std::size_t dealt = deal();
    if (outcome_.slices == 0) return std::move(outcome_);
    for (Lane& helper : helpers_) flush(helper.queue);
    outcome_.error = close(dealt);
    if (outcome_.error != CL_SUCCESS) keep_order();
    hand_over();
    outcome_.added = clock_.now() - start;
    return std::move(outcome_);
  }

 private:
  bool mark_what_came_before() {
    cl_event made = nullptr;
    if (next_.clEnqueueMarkerWithWaitList(launch_.queue, launch_.waits, launch_.wait_list, &made) !=
        CL_SUCCESS)
      return false;
    marker_ = Event(next_, made);
    next_.clFlush(launch_.queue);
    return true;
  }

  // What the first slice of every helper waits for.
  cl_event gate() const { return launch_.in_order ? marker_.get() : own_.first.get(); }

  // Enqueues all slices but the last, and returns how many of them the driver took.
  std::size_t deal() {
    const std::size_t lanes = helpers_.size() + 1;
    const std::size_t count = cut_.count() - 1;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t turn = i % lanes;
      const bool last_there = i + lanes >= count;
      const cl_int error =
          turn == 0 ? enqueue_own(cut_.slice(i)) : enqueue_on(helpers_[turn - 1], cut_.slice(i), last_there);
      if (error != CL_SUCCESS) {
        outcome_.error = error;
        return i;
      }
      // On an out-of-order queue the helpers wait for this very slice.
      if (i == 0 && !launch_.in_order) next_.clFlush(launch_.queue);
      if (i + 1 == lanes && count > 4 * lanes) begin();
    }
    return count;
  }

  // Lets the driver start with what there is, if it is one that starts nothing before it is asked to.
  void begin() {
    next_.clFlush(launch_.queue);
    for (const Lane& helper : helpers_) next_.clFlush(helper.queue);
  }

  cl_int enqueue_own(const plan::Slice& box) {
    const cl_event before = own_.last();
    if (!chained_ || before == nullptr) return enqueue(own_, box, launch_.waits, launch_.wait_list, chained_);
    return enqueue(own_, box, 1, &before, true);
  }

  cl_int enqueue_on(Lane& helper, const plan::Slice& box, bool last_there) {
    const bool first = helper.slices == 0;
    const cl_event before = first || !launch_.wants_event ? gate() : helper.last();
    const bool waits = first || launch_.wants_event || launch_.waits != 0;
    return enqueue(helper, box, waits ? 1 : 0, waits ? &before : nullptr, launch_.wants_event || last_there);
  }

  cl_int enqueue(Lane& lane, const plan::Slice& box, cl_uint waits, const cl_event* wait_list, bool event) {
    cl_event made = nullptr;
    plan::Extent offset = box.offset;
    if (launch_.tag) offset[2] = launch_.tag->offset(box);
    const cl_int error = next_.clEnqueueNDRangeKernel(
        lane.queue, launch_.kernel, launch_.tag ? 3 : launch_.range.dims, offset.data(), box.global.data(),
        launch_.range.local.data(), waits, wait_list, event ? &made : nullptr);
    if (error != CL_SUCCESS) return error;
    ++outcome_.slices;
    note(lane, made);
    return CL_SUCCESS;
  }

  void note(Lane& lane, cl_event made) {
    lane.open = made == nullptr;
    if (made != nullptr) (lane.slices == 0 ? lane.first : lane.newest) = Event(next_, made);
    // What an earlier launch has left there ends before this slice.
    if (lane.slices++ == 0) lane.newest = Event();
  }

  // Enqueues what is left from slice `from` on, on the program's queue behind all others: usually the last
  // slice alone.
  cl_int close(std::size_t from) {
    if (from + 1 == cut_.count() && enqueue_last(cut_.slice(from), true) == CL_SUCCESS) return CL_SUCCESS;
    const plan::Rest rest = cut_.rest(from);
    for (unsigned i = 0; i < rest.count; ++i) {
      const cl_int error = enqueue_last(rest.boxes[i], i + 1 == rest.count);
      if (error != CL_SUCCESS) return error;
    }
    return CL_SUCCESS;
  }

  cl_int enqueue_last(const plan::Slice& box, bool last) {
    WaitList list = all_helpers();
    const bool behind_helpers = list.count() != 0;
    if (chained_) list.add(own_.last());
    // Whatever helpers have waits for the program's list already, if it has one.
    if (!behind_helpers && !chained_)
      return enqueue(own_, box, launch_.waits, launch_.wait_list, last && launch_.wants_event);
    return enqueue(own_, box, list.count(), list.data(), last ? launch_.wants_event : chained_);
  }

  WaitList all_helpers() {
    WaitList list;
    for (Lane& helper : helpers_) {
      if (helper.slices == 0) continue;
      if (helper.open) mark(helper);
      if (!helper.open) list.add(helper.last());
    }
    return list;
  }

  // Gives the newest command of a helper an event: slices have none if others should have followed them. If
  // there is no way to wait for it in the queue, it is waited for here.
  void mark(Lane& helper) {
    cl_event made = nullptr;
    if (next_.clEnqueueMarkerWithWaitList(helper.queue, 0, nullptr, &made) == CL_SUCCESS) {
      helper.newest = Event(next_, made);
      helper.open = false;
      flush(helper.queue);
    } else if (next_.clFinish(helper.queue) == CL_SUCCESS) {
      helper.newest = Event();
      helper.open = false;
      helper.slices = 0;
    }
  }

  // After an error: what the program enqueues now must still come behind what runs already.
  void keep_order() {
    const WaitList list = all_helpers();
    if (list.count() != 0)
      next_.clEnqueueMarkerWithWaitList(launch_.queue, list.count(), list.data(), nullptr);
  }

  // Whoever waits for a helper relies on its having been flushed.
  void flush(cl_command_queue queue) {
    if (next_.clFlush(queue) != CL_SUCCESS) next_.clFlush(queue);
  }

  void hand_over() {
    if (outcome_.error != CL_SUCCESS || !launch_.wants_event) return;
    outcome_.first = std::move(own_.first);
    outcome_.last = std::move(own_.newest);
  }

  const Table& next_;
  base::Clock& clock_;
  const Launch& launch_;
  const plan::Cut& cut_;
  const std::span<Lane> helpers_;
  const bool chained_;  // each slice on the program's queue waits for the one before there
  Lane own_;
  Event marker_;
  Outcome outcome_;
};

}  // namespace

Outcome pipeline(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                 std::span<Lane> helpers) {
  return Pipeline(next, clock, launch, cut, helpers).carry_out();
}

}  // namespace cleave::launch
