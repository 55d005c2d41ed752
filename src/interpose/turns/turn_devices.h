// The devices on which this process takes turns with others, and which settings apply.
//
// Thread-safe. contended() costs a few relaxed loads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/settings/settings.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/drivers/devices.h"
#include "interpose/state/records.h"
#include "interpose/turns/device_turn.h"
#include "learn/cost_table.h"
#include "observe/summary.h"

namespace cleave::interpose {

// Why a launch takes no turn.
enum class TurnExemption : std::uint8_t {
  user_event,  // one is pending, on which it may depend
  queue,       // pacing had to be given up on its queue
  callback,    // it is made in a callback of the program
};
inline constexpr std::array<const char*, 3> kTurnExemptions = {"user_event", "queue", "callback"};

// What the file of a device's participants is named after: the same in every process.
std::string turn_identity(const DeviceFacts& facts);
// What the device is for turns, as CL_CLEAVE_DEVICE_TURNS says it.
const char* turn_kind(const DeviceFacts& facts) noexcept;

inline LaunchWeight weight_of(const QueueRecord& queue) {
  return queue.low_priority ? LaunchWeight::quarter : LaunchWeight::whole;
}

class TurnDevices {
 public:
  // `costs` learns what launches take while the device is held. Everything must outlive this.
  TurnDevices(base::ForkLocks& forks, const Table& next, base::Clock& clock, const base::Settings& settings,
              limits::LiveLimits& live, learn::CostTable& costs, Tracer* trace);

  // Whether the settings allow for turns at all.
  [[nodiscard]] bool may_take_turns() const;

  // The program has made a queue on this device.
  void add(const QueueRecord& queue, const DeviceFacts& facts) noexcept;

  // Looks whether weight or cap have changed: two loads, and without a settings file one.
  void follow_limits() noexcept {
    static_cast<void>(live_.poll_often());
    if (live_.version() != followed_.load(std::memory_order_relaxed)) [[unlikely]]
      apply_limits();
  }

  // Whether the device of some queue is, or may be, shared.
  [[nodiscard]] bool contended() const noexcept {
    const unsigned count = count_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i) {
      if (devices_[i].turn->contended()) return true;
    }
    return false;
  }

  // The turns on the device, if it is shared; else null. Joins at the first call for a device.
  DeviceTurn* of(cl_device_id device) noexcept;

  // A launch on the device takes no turn, although others share it.
  void count_exempt(cl_device_id device, TurnExemption why) noexcept;
  // What this process has had.
  [[nodiscard]] observe::TurnsSummary report() const;

  // Whether this process holds a device.
  [[nodiscard]] bool held() const noexcept {
    const unsigned count = count_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i) {
      if (devices_[i].turn->held()) return true;
    }
    return false;
  }

  // See DeviceTurn. Costs two relaxed loads per device while this process does not hold it.
  void settle(cl_command_queue queue) noexcept {
    const unsigned count = count_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i) devices_[i].turn->settle(queue);
  }

  // The process exits: passes all devices on.
  void leave() noexcept;

  [[nodiscard]] TurnCosts& costs() { return costs_; }

  // For fork(), which the analysis cannot follow.
  void lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS;
  void unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS;

 private:
  struct Device {
    cl_device_id id = nullptr;
    std::unique_ptr<DeviceTurn> turn;
  };
  // What is known of a device when the program makes a queue on it.
  struct Candidate {
    cl_device_id id = nullptr;
    turns::Options options;
  };
  [[nodiscard]] Candidate candidate(cl_device_id device, const DeviceFacts& facts) const;
  void take_part(Candidate candidate) CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] DeviceTurn* find(cl_device_id device) const noexcept;
  void say_once(const std::string& line);
  void warn(const std::string& problem);
  void note_child() noexcept;
  void apply_limits() noexcept;
  void join_on_processors() noexcept;

  const Table& next_;
  base::Clock& clock_;
  const base::Settings& settings_;
  Tracer* const trace_;
  TurnCosts costs_;  // used by the devices until they are destroyed
  limits::LiveLimits& live_;
  // What every launch reads is side by side.
  std::atomic<std::uint32_t> followed_;  // the version of `live_`
  std::atomic<unsigned> count_{0};
  std::array<Device, 16> devices_;  // only grows; entries before `count_` do not change
  base::Mutex mutex_;
  // Processors, on which turns are taken as soon as there is a cap.
  std::vector<Candidate> processors_ CLEAVE_GUARDED_BY(mutex_);
  std::array<std::atomic<std::uint64_t>, kTurnExemptions.size()> exempt_{};
  bool in_child_ = false;
  std::atomic<bool> warned_{false};
};

}  // namespace cleave::interpose
