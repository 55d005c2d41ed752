// What is known of the program's waits: what a driver's own waits cost, and how long waits on a queue
// usually are. waits.cpp decides with it whether a wait is made polite.
//
// Thread-safe, without locks: nothing is held while a thread sleeps or across fork(). What it says of queues
// is a guess from their past (queues may share an entry); a wrong guess costs time and nothing else.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/spin_detector.h"

namespace cleave::interpose {

// Waits of one kind on one queue are alike.
enum class WaitKind : std::uint8_t { finish, events, transfer };
inline constexpr std::size_t kWaitKinds = 3;

// The past of one queue's waits.
class WaitHistory {
 public:
  // The calling thread enqueues something.
  void note_use() noexcept;
  // It is something that may take long.
  void note_work() noexcept {
    note_use();
    if (!work_.load(kRelaxed)) work_.store(true, kRelaxed);
  }
  // Whether that was so since the last question.
  bool take_work() noexcept { return work_.load(kRelaxed) && work_.exchange(false, kRelaxed); }

  // Several threads enqueue there. (Not cleared by itself: pointers to it are held during waits.)
  [[nodiscard]] const std::atomic<bool>& shared() const noexcept { return shared_; }

  // A queue is new at this address.
  void forget() noexcept;

  // A wait was over after `duration`; `brief`: so soon that watching is no gain.
  void add_wait(WaitKind kind, base::Nanoseconds duration, bool brief) noexcept;

  // The last few waits were brief.
  [[nodiscard]] bool expects_brief(WaitKind kind) const noexcept;

  // How long the last one was that was not brief; 0 if there was none.
  [[nodiscard]] base::Nanoseconds predicted(WaitKind kind) const noexcept;

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  struct Kind {
    std::atomic<std::int64_t> last{0};
    std::atomic<unsigned> brief{0};  // in a row
  };
  std::array<Kind, kWaitKinds> kinds_;
  std::atomic<bool> work_{false};
  std::atomic<bool> shared_{false};
  std::atomic<pthread_t> user_{};  // the first thread to use it
};

// What one device's driver is like as one waits for it.
struct DriverWaits {
  std::atomic<cl_device_id> device{nullptr};
  std::atomic<bool> ready{false};      // what follows has been found out
  std::atomic<bool> watchable{true};   // it is new enough to have markers with wait lists
  std::atomic<bool> processor{false};  // its devices are the processor: who waits may be the one who works
  std::atomic<bool> ends_unwaited{false};  // its commands end while nobody waits
  launch::SpinDetector spinning;
};

class WaitStatistics {
 public:
  WaitHistory& of(const void* queue) {
    return histories_[(reinterpret_cast<std::uintptr_t>(queue) * 0x9e3779b97f4a7c15U) >> (64U - kBits)];
  }

  // Null where there are too many devices to know them all.
  DriverWaits* driver(const Table& next, cl_device_id device) noexcept;

  void count(base::Nanoseconds slept) noexcept;
  [[nodiscard]] std::uint64_t sleeping() const noexcept { return sleeping_.load(std::memory_order_relaxed); }
  [[nodiscard]] base::Nanoseconds slept() const noexcept;

  // For the child of a fork, which counts its own.
  void reset() noexcept;

 private:
  static constexpr unsigned kBits = 10;
  std::array<WaitHistory, std::size_t{1} << kBits> histories_;
  std::array<DriverWaits, 64> drivers_;
  std::atomic<std::uint64_t> sleeping_{0};
  std::atomic<std::int64_t> slept_{0};
};

}  // namespace cleave::interpose
