// What is known of the program's waits: what the driver's own waits cost, and how long waits on a queue usually take.
// waits/wait.cpp decides from this whether a wait sleeps.
//
// Thread-safe and lock-free, so nothing is held during sleeps or across fork(). What is known of a queue is a guess
// from its past, and queues may share an entry; a wrong guess only costs time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/threads/this_thread.h"
#include "interpose/drivers/devices.h"
#include "interpose/waits/spin_detector.h"

namespace cleave::interpose {

// How a wait was done.
struct WaitInfo {
  bool sleeping = false;
  base::Nanoseconds slept{0};
};

// Waits of one kind on one queue take similar times.
enum class WaitKind : std::uint8_t { finish, events, transfer };
inline constexpr std::size_t kWaitKinds = 3;

// The history of one queue's waits. In one cache line, which every launch touches.
class alignas(64) WaitHistory {
 public:
  // The calling thread enqueues a command.
  void note_use() noexcept {
    if (user_.load(kRelaxed) != base::this_thread()) [[unlikely]]
      note_user();
  }
  // The command may take long.
  void note_work() noexcept {
    note_use();
    if (!work_.load(kRelaxed)) work_.store(true, kRelaxed);
  }
  // Whether such a command was enqueued since the last call.
  bool take_work() noexcept { return work_.load(kRelaxed) && work_.exchange(false, kRelaxed); }

  // Several threads enqueue there. (Never cleared by itself: pointers to it are held during waits.)
  [[nodiscard]] const std::atomic<bool>& shared() const noexcept { return shared_; }

  // The address has been reused for a new queue.
  void forget() noexcept;

  // A wait took `duration`; `brief`: so short that polling is no gain.
  void add_wait(WaitKind kind, base::Nanoseconds duration, bool brief) noexcept;

  // The latest waits were brief.
  [[nodiscard]] bool expects_brief(WaitKind kind) const noexcept;

  // The duration of the latest wait that was not brief; 0 if there was none.
  [[nodiscard]] base::Nanoseconds predicted(WaitKind kind) const noexcept;

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  void note_user() noexcept;

  struct Kind {
    std::atomic<std::int64_t> last{0};
    std::atomic<unsigned> brief{0};  // in a row
  };
  std::array<Kind, kWaitKinds> kinds_;
  std::atomic<bool> work_{false};
  std::atomic<bool> shared_{false};
  std::atomic<pthread_t> user_{};  // the first thread to use it
};

// What is known of the waits of one device's driver. That of a sub-device is its root's.
struct DriverWaits {
  std::atomic<cl_device_id> device{nullptr};
  std::atomic<bool> ready{false};          // the following members are known
  std::atomic<bool> watchable{true};       // it has markers with wait lists
  std::atomic<bool> processor{false};      // a CPU device: the waiting thread may execute commands
  std::atomic<bool> ends_unwaited{false};  // its commands end without a waiting thread
  SpinDetector spinning;
};

class WaitStatistics {
 public:
  WaitHistory& of(const void* queue) {
    return histories_[(reinterpret_cast<std::uintptr_t>(queue) * 0x9e3779b97f4a7c15U) >> (64U - kBits)];
  }

  // Null if there are too many devices.
  DriverWaits* driver(Devices& devices, cl_device_id of) noexcept;

  void count(base::Nanoseconds slept) noexcept;
  [[nodiscard]] std::uint64_t sleeping() const noexcept { return sleeping_.load(std::memory_order_relaxed); }
  [[nodiscard]] base::Nanoseconds slept() const noexcept;

  // For the child of a fork, which counts its own waits.
  void reset() noexcept;

 private:
  static constexpr unsigned kBits = 10;
  std::array<WaitHistory, std::size_t{1} << kBits> histories_;
  std::array<DriverWaits, 64> drivers_;
  std::atomic<std::uint64_t> sleeping_{0};
  std::atomic<std::int64_t> slept_{0};
};

}  // namespace cleave::interpose
