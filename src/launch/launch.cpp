#include "launch/launch.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

namespace cleave::launch {
namespace {

// One launch on the program's queue.
class SingleQueueLaunch {
 public:
  SingleQueueLaunch(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                    Mode mode)
      : next_(next),
        clock_(clock),
        launch_(launch),
        cut_(cut),
        chained_(!launch.in_order || launch.wants_event),
        pacing_(mode == Mode::sequential && launch.pacer != nullptr) {
    if (chained_ && launch.waits > 0) prepare_chain();
  }

  LaunchResult enqueue_slices() && {
    const std::size_t count = cut_.count();
    advance(0, count - 1);
    result_.error = enqueue(latest_.box, needs_event());
    if (result_.error != CL_SUCCESS) return std::move(result_);
    const base::Nanoseconds start = clock_.now();
    if (pacing_) launch_.pacer->flush_upstream({launch_.wait_list, launch_.waits});
    for (std::size_t i = latest_.slices; i < count && result_.error == CL_SUCCESS; i += latest_.slices) {
      pace();
      advance(i, count);
      const bool last = i + latest_.slices == count;
      const bool event = last ? launch_.wants_event : needs_event();
      if (failed_ || enqueue(latest_.box, event) != CL_SUCCESS) {
        result_.error = enqueue_remainder(i);
        latest_.slices = count - i;
        break;
      }
    }
    result_.slices_of_last = latest_.slices;
    return_events();
    result_.added = clock_.now() - start;
    return std::move(result_);
  }

 private:
  // Without memory each slice waits only for the one before, which is equivalent by the specification.
  void prepare_chain() noexcept try {
    chain_.assign(launch_.wait_list, launch_.wait_list + launch_.waits);
    chain_.push_back(nullptr);
  } catch (...) {
    chain_.clear();
  }

  // The wait list of a box that follows `before`.
  std::span<const cl_event> wait_list_after(const cl_event& before) {
    if (chain_.empty()) return {&before, 1};
    chain_.back() = before;
    return chain_;
  }

  // Enqueues one box after those before it. With `event`, its event is the one that the next box waits for.
  cl_int enqueue(const plan::Slice& box, bool event) {
    const cl_event before = failed_ || chained_ ? previous() : nullptr;
    const auto list = before != nullptr ? wait_list_after(before)
                                        : std::span<const cl_event>(launch_.wait_list, launch_.waits);
    cl_event made = nullptr;
    plan::Extent tagged;
    const cl_int error = next_.clEnqueueNDRangeKernel(
        launch_.queue, launch_.kernel, launch_.tag ? 3 : launch_.range.dims, offset_of(launch_, box, tagged),
        box.global.data(), launch_.range.local.data(), static_cast<cl_uint>(list.size()), list.data(),
        event ? &made : nullptr);
    if (error != CL_SUCCESS) return error;
    if (result_.slices++ == 0 && launch_.wants_event) {
      result_.first = Event(next_, made);
    } else if (made != nullptr) {
      previous_.reset(next_, made);
    }
    return CL_SUCCESS;
  }

  // The slices of the next command, from `from` on and before `end`.
  void advance(std::size_t from, std::size_t end) {
    const std::size_t most = pacing_ ? launch_.pacer->slices_at_once() : 1;
    cut_.advance(latest_, from, std::min(most, end - from));
  }

  // Of a command that is not the last.
  [[nodiscard]] bool needs_event() const { return chained_ || pacing_; }

  cl_int enqueue_remainder(std::size_t from) {
    const plan::Remainder remainder = cut_.remainder(from);
    for (unsigned i = 0; i < remainder.count; ++i) {
      const bool last = i + 1 == remainder.count;
      const cl_int error = enqueue(remainder.boxes[i], last ? launch_.wants_event : chained_);
      if (error != CL_SUCCESS) return error;
    }
    return CL_SUCCESS;
  }

  // Waits for the slice before, as long as waiting helps.
  void pace() {
    if (!pacing_) return;
    next_.clFlush(launch_.queue);
    const WaitResult waited = launch_.pacer->wait(previous(), latest_.slices);
    pacing_ = waited == WaitResult::complete;
    failed_ = waited == WaitResult::failed;
    result_.stalled = waited == WaitResult::stalled;
  }

  // The latest command's event, or of the latest that has one.
  cl_event previous() const { return previous_.get() != nullptr ? previous_.get() : result_.first.get(); }

  void return_events() {
    if (result_.error != CL_SUCCESS || !launch_.wants_event) {
      result_.first = Event();
    } else {
      result_.last = std::move(previous_);
    }
  }

  const Table& next_;
  base::Clock& clock_;
  const Launch& launch_;
  const plan::Cut& cut_;
  const bool chained_;           // each slice waits for the one before
  std::vector<cl_event> chain_;  // the program's list, if there is one, and room for one more
  bool pacing_;
  plan::SliceRun latest_;
  bool failed_ = false;  // a slice that was waited for has failed: later ones must not run
  Event previous_;
  LaunchResult result_;
};

}  // namespace

LaunchResult enqueue_slices(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                            Mode mode) {
  assert(mode != Mode::pipelined && cut.count() >= 2);
  return SingleQueueLaunch(next, clock, launch, cut, mode).enqueue_slices();
}

}  // namespace cleave::launch
