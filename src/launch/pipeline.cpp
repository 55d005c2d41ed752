#include "launch/pipeline.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <new>
#include <vector>

#include "launch/enqueue_throttle.h"

namespace cleave::launch {
namespace {

// The wait list of one command: the program's own list, so that the command does not run if an event there fails (see
// launch.h), and at most each helper's newest command and the slice before on the same queue. Reused for all commands.
class WaitList {
 public:
  // May throw std::bad_alloc; the other functions do not allocate.
  explicit WaitList(const Launch& launch) : own_(launch.waits), size_(own_) {
    if (own_ + kMaxHelpers + 1 > few_.size()) many_.resize(own_ + kMaxHelpers + 1);
    events_ = many_.empty() ? few_.data() : many_.data();
    std::copy_n(launch.wait_list, own_, events_);
  }
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;

  // The program's list only.
  WaitList& fresh() {
    size_ = own_;
    return *this;
  }
  // Requires: no more than each helper's newest command and one more, since fresh().
  WaitList& add(cl_event event) {
    events_[size_] = event;
    size_ += event != nullptr ? 1 : 0;
    return *this;
  }
  [[nodiscard]] std::span<const cl_event> all() const { return {events_, size_}; }
  [[nodiscard]] std::span<const cl_event> added() const { return all().subspan(own_); }

 private:
  std::size_t own_;
  std::size_t size_;
  std::array<cl_event, 16> few_{};
  std::vector<cl_event> many_;  // in place of `few_`, for long lists
  cl_event* events_;
};

using Events = std::span<const cl_event>;

class Pipeline {
 public:
  Pipeline(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
           std::span<Lane> helpers)
      : next_(next),
        clock_(clock),
        launch_(launch),
        cut_(cut),
        helpers_(helpers),
        list_(launch),
        throttle_(next, clock, cut.count()),
        chained_(!launch.in_order || launch.wants_event),
        pacing_(launch.pacer != nullptr) {
    own_.queue = launch.queue;
    lanes_[0] = &own_;
    std::transform(helpers.begin(), helpers.end(), lanes_.begin() + 1, [](Lane& helper) { return &helper; });
  }

  LaunchResult enqueue_slices() && {
    if (launch_.in_order && !enqueue_gate_marker()) {
      result_.refused = true;
      return std::move(result_);
    }
    const base::Nanoseconds start = clock_.now();
    const std::size_t dealt = deal();
    if (result_.slices == 0) return std::move(result_);
    for (Lane& helper : helpers_) flush(helper.queue);
    result_.error = close(dealt);
    if (result_.error != CL_SUCCESS) enqueue_order_marker();
    return_events();
    result_.added = clock_.now() - start;
    return std::move(result_);
  }

 private:
  // Without the program's list, which every slice has: if the first slice is refused, no marker stays in the queue
  // that waits for more than earlier commands.
  bool enqueue_gate_marker() {
    cl_event made = nullptr;
    if (next_.clEnqueueMarkerWithWaitList(launch_.queue, 0, nullptr, &made) != CL_SUCCESS) return false;
    marker_ = Event(next_, made);
    next_.clFlush(launch_.queue);
    return true;
  }

  // What each helper's first slice waits for.
  cl_event gate() const { return launch_.in_order ? marker_.get() : own_.first.get(); }

  // Enqueues all slices, except the last one if its event is to be the program's. Returns how many were accepted.
  std::size_t deal() {
    const std::size_t lanes = helpers_.size() + 1;
    const std::size_t count = cut_.count() - (launch_.wants_event ? 1 : 0);
    std::size_t turn = 0;
    bool is_begun = count <= 4 * lanes;
    for (std::size_t i = 0; i < count;) {
      const std::size_t most = pacing_ ? pace(turn == 0 ? lanes - 1 : turn - 1) : 1;
      cut_.advance(latest_, i, std::min(most, count - i));
      const bool awaited = pacing_ || throttle_.wants_event(i);
      const bool event = awaited || (turn != 0 && i + lanes >= count);
      Lane& lane = *lanes_[turn];
      if (const cl_int error = enqueue_on(lane, turn != 0, event); error != CL_SUCCESS) [[unlikely]] {
        result_.error = error;
        return i;
      }
      if (awaited || i == 0) [[unlikely]]
        note_dealt(i, lane, awaited);
      i += latest_.slices;
      if (++turn < lanes) continue;
      turn = 0;
      if (!is_begun) begin();
      is_begun = true;
    }
    return count;
  }

  // Slice `i` has been enqueued on `lane`.
  void note_dealt(std::size_t i, const Lane& lane, bool awaited) {
    if (!pacing_ && awaited) throttle_.after(lane.last());
    // On an out-of-order queue the helpers wait for this slice.
    if (i == 0 && !launch_.in_order) next_.clFlush(launch_.queue);
  }

  // Holds the launch back after the latest command, if there is one, which is on the lane of that number. Returns for how many
  // slices the next command may stand.
  std::size_t pace(std::size_t lane) {
    if (result_.slices != 0) hold_back(lane);
    return pacing_ ? launch_.pacer->slices_at_once() : 1;
  }

  void hold_back(std::size_t lane) {
    if (result_.slices == 1) launch_.pacer->flush_upstream({launch_.wait_list, launch_.waits});
    const Lane& latest = lane == 0 ? own_ : helpers_[lane - 1];
    flush(latest.queue);
    const WaitResult waited = launch_.pacer->wait(latest.last(), latest_.slices);
    pacing_ = waited == WaitResult::complete;
    result_.stalled = waited == WaitResult::stalled;
  }

  // For drivers that start nothing before a flush.
  void begin() {
    next_.clFlush(launch_.queue);
    for (const Lane& helper : helpers_) next_.clFlush(helper.queue);
  }

  // Enqueues the latest slice on a lane, a helper's or the program's.
  cl_int enqueue_on(Lane& lane, bool helper, bool event) {
    const bool chained = helper ? launch_.wants_event : chained_;
    const bool first = helper && lane.slices == 0;
    cl_event before = nullptr;
    if (first) [[unlikely]] {
      before = gate();
    } else if (chained) {
      before = lane.last();
    }
    return enqueue(lane, latest_.box, list_.fresh().add(before).all(), chained || event);
  }

  cl_int enqueue(Lane& lane, const plan::Slice& box, Events list, bool event) {
    cl_event made = nullptr;
    plan::Extent tagged;
    const cl_int error = next_.clEnqueueNDRangeKernel(
        lane.queue, launch_.kernel, launch_.tag ? 3 : launch_.range.dims, offset_of(launch_, box, tagged),
        box.global.data(), launch_.range.local.data(), static_cast<cl_uint>(list.size()), data_of(list),
        event ? &made : nullptr);
    if (error != CL_SUCCESS) [[unlikely]]
      return error;
    ++result_.slices;
    result_.slices_of_last = latest_.slices;
    note(lane, made);
    return CL_SUCCESS;
  }

  // Passes the program's own pointer for an empty list, so that the driver can refuse it as for the whole launch.
  const cl_event* data_of(Events list) const { return list.empty() ? launch_.wait_list : list.data(); }

  void note(Lane& lane, cl_event made) {
    const bool first = lane.slices++ == 0;
    lane.lacks_event = made == nullptr;
    if (first) [[unlikely]] {
      lane.first.reset(next_, made);
      lane.newest = Event();  // the newest command of an earlier launch ends before this slice
    } else if (made != nullptr) {
      lane.newest.reset(next_, made);
    }
  }

  // Enqueues the slices from `from` on, on the program's queue after all others: on success only the last slice, or
  // none.
  cl_int close(std::size_t from) {
    if (from == cut_.count()) return wait_for_helpers();
    latest_.slices = cut_.count() - from;
    if (launch_.wants_event && from + 1 == cut_.count() && enqueue_last(cut_.slice(from), true) == CL_SUCCESS)
      return CL_SUCCESS;
    const plan::Remainder remainder = cut_.remainder(from);
    for (unsigned i = 0; i < remainder.count; ++i) {
      const cl_int error = enqueue_last(remainder.boxes[i], i + 1 == remainder.count);
      if (error != CL_SUCCESS) return error;
    }
    return CL_SUCCESS;
  }

  cl_int enqueue_last(const plan::Slice& box, bool last) {
    WaitList& list = all_helpers();
    if (chained_) list.add(own_.last());
    return enqueue(own_, box, list.all(), last ? launch_.wants_event : chained_);
  }

  // The list with each helper's newest command.
  WaitList& all_helpers() {
    WaitList& list = list_.fresh();
    for (Lane& helper : helpers_) {
      if (helper.slices == 0) continue;
      if (helper.lacks_event) mark(helper);
      if (!helper.lacks_event) list.add(helper.last());
    }
    return list;
  }

  // Gives a helper's newest command an event, by a marker: slices that were to be followed by others have none. Waits
  // on the host if the driver refuses the marker.
  void mark(Lane& helper) {
    cl_event made = nullptr;
    if (next_.clEnqueueMarkerWithWaitList(helper.queue, 0, nullptr, &made) == CL_SUCCESS) {
      helper.newest = Event(next_, made);
      helper.lacks_event = false;
      flush(helper.queue);
    } else if (next_.clFinish(helper.queue) == CL_SUCCESS) {
      helper.newest = Event();
      helper.lacks_event = false;
      helper.slices = 0;
    }
  }

  // Later commands of the program follow all commands of the helpers. Waits on the host if the driver refuses a marker.
  cl_int wait_for_helpers() {
    if (enqueue_order_marker() == CL_SUCCESS) return CL_SUCCESS;
    cl_int error = CL_SUCCESS;
    for (const Lane& helper : helpers_) {
      const cl_int own = helper.slices != 0 ? next_.clFinish(helper.queue) : CL_SUCCESS;
      if (own != CL_SUCCESS) error = own;
    }
    return error;
  }

  cl_int enqueue_order_marker() {
    const Events list = all_helpers().added();
    if (list.empty()) return CL_SUCCESS;
    return next_.clEnqueueMarkerWithWaitList(launch_.queue, static_cast<cl_uint>(list.size()), list.data(),
                                             nullptr);
  }

  // Waiting for a helper requires that it has been flushed.
  void flush(cl_command_queue queue) {
    if (next_.clFlush(queue) != CL_SUCCESS) next_.clFlush(queue);
  }

  void return_events() {
    if (result_.error != CL_SUCCESS || !launch_.wants_event) return;
    result_.first = std::move(own_.first);
    result_.last = std::move(own_.newest);
  }

  const Table& next_;
  base::Clock& clock_;
  const Launch& launch_;
  const plan::Cut& cut_;
  const std::span<Lane> helpers_;
  WaitList list_;
  EnqueueThrottle throttle_;
  const bool chained_;  // each slice on the program's queue waits for the one before there
  bool pacing_;
  plan::SliceRun latest_;
  Lane own_;
  std::array<Lane*, kMaxHelpers + 1> lanes_{};  // in the order in which slices are dealt to them
  Event marker_;
  LaunchResult result_;
};

}  // namespace

LaunchResult pipeline(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                      std::span<Lane> helpers) try {
  assert(cut.count() >= 3);
  return Pipeline(next, clock, launch, cut, helpers).enqueue_slices();
} catch (const std::bad_alloc&) {  // before anything was enqueued
  LaunchResult result;
  result.refused = true;
  return result;
}

}  // namespace cleave::launch
