#include "interpose/launch/fed_launch.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "interpose/launch/executor.h"
#include "interpose/launch/lone_pacer.h"
#include "interpose/launch/turn_pacer.h"
#include "interpose/state/callback_scope.h"
#include "launch/event.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// To hand a launch over takes two wake-ups.
constexpr base::Nanoseconds kWorthFeeding = 2ms;

using Sizes = std::array<std::size_t, 3>;

// Of the arrays that belong to the program, and may change when its call has returned.
class CallCopy {
 public:
  // May throw std::bad_alloc.
  explicit CallCopy(const Table& next, const Call& call) : call_(call) {
    copy(call.offset, offset_, call_.offset);
    copy(call.global, global_, call_.global);
    copy(call.local, local_, call_.local);
    list_.assign(call.wait_list, call.wait_list + call.waits);
    if (call.waits != 0) call_.wait_list = list_.data();
    references_.reserve(call.waits);
    for (const cl_event event : list_) {
      if (next.clRetainEvent(event) == CL_SUCCESS) references_.emplace_back(next, event);
    }
  }
  CallCopy(const CallCopy&) = delete;
  CallCopy& operator=(const CallCopy&) = delete;
  ~CallCopy() = default;

  [[nodiscard]] const Call& call() const { return call_; }

 private:
  void copy(const std::size_t* from, Sizes& into, const std::size_t*& pointer) const {
    if (from == nullptr) return;
    for (cl_uint d = 0; d < call_.dims; ++d) into[d] = from[d];
    pointer = into.data();
  }

  Call call_;
  Sizes offset_{};
  Sizes global_{};
  Sizes local_{};
  std::vector<cl_event> list_;
  std::vector<launch::Event> references_;
};

class FedLaunch final : public Feeder::Task {
 public:
  FedLaunch(Interposer& p, DeviceTurn& device, const Call& call, const LaunchPlan& plan)
      : p_(p),
        device_(device),
        call_(p.next, call),
        kernel_(*plan.kernel),
        queue_(*plan.queue),
        range_(*plan.range),
        plan_{&kernel_, &queue_, &range_, plan.decision, plan.cost} {}

  cl_int run(Feeder::Caller& caller) noexcept override {
    TurnUse use(device_, weight_of(queue_));
    if (use.holds()) {
      TurnPacer pacer(p_, plan_, use, &caller);
      return execute(p_, call_.call(), plan_, pacer);
    }
    LonePacer pacer(p_, plan_);
    return execute(p_, call_.call(), plan_, pacer);
  }

 private:
  Interposer& p_;
  DeviceTurn& device_;
  const CallCopy call_;
  const KernelRecord kernel_;
  const QueueRecord queue_;
  const plan::NDRange range_;
  const LaunchPlan plan_;  // of these
};

bool is_worth_feeding(const Call& call, const LaunchPlan& plan) {
  if (call.event != nullptr || call.trace != nullptr || CallbackScope::inside()) return false;
  if (!plan.queue->in_order || plan.queue->needs_serial_calls) return false;
  return plan.cost.duration.count() == 0 || plan.cost.duration >= kWorthFeeding;
}

}  // namespace

std::optional<cl_int> feed(Interposer& p, DeviceTurn& device, const Call& call,
                           const LaunchPlan& plan) noexcept try {
  if (!is_worth_feeding(call, plan)) return std::nullopt;
  return p.feeder.run(call.queue, call.kernel, std::make_unique<FedLaunch>(p, device, call, plan));
} catch (...) {  // out of memory
  return std::nullopt;
}

}  // namespace cleave::interpose
