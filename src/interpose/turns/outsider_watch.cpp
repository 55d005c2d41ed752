#include "interpose/turns/outsider_watch.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>

#include "base/scoped_thread_state.h"
#include "interpose/turns/gpu_processes.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

constexpr auto kPeriod = 1s;
constexpr auto kLongestStop = 1s;
constexpr int kUndisturbed = 2;
constexpr int kLongestPause = 8;

}  // namespace

bool RoomForOutsiders::step(bool others, bool disturbed) {
  if (!others || disturbed || (!leaves_ && --left_ <= 0)) {
    if (!others || disturbed) pause_ = 0;
    undisturbed_ = 0;
    return leaves_ = others;
  }
  if (leaves_ && ++undisturbed_ >= kUndisturbed) {
    leaves_ = false;
    left_ = pause_ = std::clamp(2 * pause_, 1, kLongestPause);
  }
  return leaves_;
}

void OutsiderWatch::start_thread() noexcept try {
  if (started_.exchange(true) || address_.empty()) return;
  const base::ScopedSignalBlock blocked;
  std::thread([address = address_, state = state_] { watch(address, state); }).detach();
} catch (...) {  // no thread, or no memory: nobody is found
}

void OutsiderWatch::watch(const std::string& address, const std::shared_ptr<State>& state) noexcept try {
  const pid_t self = getpid();
  std::unique_ptr<GpuProcesses> processes;
  // Whether the call was made: not when the process ends.
  const auto in_library = [&state](auto call) {
    state->calls = true;
    const bool may_call = !state->stopped;
    if (may_call) call();
    state->calls = false;
    return may_call;
  };
  std::optional<bool> found = false;
  RoomForOutsiders room;
  if (!in_library([&] { processes = GpuProcesses::open(GpuProcesses::kLibrary, address); })) return;
  while (processes && found) {
    if (!in_library([&] { found = processes->has_others_than(self); })) break;
    state->found = room.step(found.value_or(false), state->disturbed.exchange(false));
    std::this_thread::sleep_for(kPeriod);
  }
  // Not shut down when the process ends, which does that by itself.
  if (!in_library([&] { processes.reset(); })) static_cast<void>(processes.release());
} catch (...) {  // out of memory
  state->found = false;
}

void OutsiderWatch::stop() noexcept {
  started_ = true;
  state_->stopped = true;
  const auto until = std::chrono::steady_clock::now() + kLongestStop;
  while (state_->calls && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
}

// The thread does not exist here.
void OutsiderWatch::reset_in_child() noexcept {
  started_ = true;
  state_->found = false;
  state_->stopped = true;
  state_->calls = false;
}

}  // namespace cleave::interpose
