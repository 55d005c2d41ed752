#include "interpose/launch/fed_launch.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

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
  FedLaunch(Interposer& p, DeviceTurn& device, const Call& call, const Split& split, const LaunchTurn& turn)
      : p_(p),
        device_(device),
        call_(p.next, call),
        kernel_(split.kernel),
        queue_(split.queue),
        range_(split.range),
        slices_(split.slices),
        split_key_(split.key),
        fineness_(split.fineness),
        expected_(turn.expected),
        is_certain_(turn.is_certain),
        turn_key_(turn.key) {}

  cl_int run(Feeder::Caller& caller) noexcept override {
    TurnUse use(device_, weight_of(queue_));
    const LaunchTurn turn{use, expected_, is_certain_, turn_key_, &caller};
    return launch_split(p_, call_.call(), {kernel_, queue_, range_, slices_, split_key_, fineness_},
                        use.holds() ? &turn : nullptr);
  }

 private:
  Interposer& p_;
  DeviceTurn& device_;
  const CallCopy call_;
  const KernelRecord kernel_;
  const QueueRecord queue_;
  const plan::NDRange range_;
  const std::size_t slices_;
  const learn::Key split_key_;
  const std::size_t fineness_;
  const base::Nanoseconds expected_;
  const bool is_certain_;
  const learn::Key turn_key_;
};

bool is_worth_feeding(const Call& call, const Split& split, const LaunchTurn& turn) {
  if (call.event != nullptr || call.trace != nullptr || CallbackScope::inside()) return false;
  if (!split.queue.in_order || split.queue.needs_serial_calls) return false;
  return turn.expected.count() == 0 || turn.expected >= kWorthFeeding;
}

}  // namespace

std::optional<cl_int> feed(Interposer& p, DeviceTurn& device, const Call& call, const Split& split,
                           const LaunchTurn& turn) noexcept try {
  if (!is_worth_feeding(call, split, turn)) return std::nullopt;
  return p.feeder.run(call.queue, call.kernel, std::make_unique<FedLaunch>(p, device, call, split, turn));
} catch (...) {  // out of memory
  return std::nullopt;
}

}  // namespace cleave::interpose
