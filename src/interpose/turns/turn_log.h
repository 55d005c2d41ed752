// What this process has had of the turns on one device: figures for the statistics, spans for the trace.
//
// Thread-safe as far as DeviceTurn is: figures are read at any time, without a lock; everything else is for the thread that holds
// its lock, or that changes the holder. Nothing throws but figures(), for want of memory. Without a trace, only figures are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "interpose/trace/tracer.h"
#include "observe/summary.h"

namespace cleave::interpose {

class TurnLog {
 public:
  // `trace` may be null; else it must outlive this. `device`: its name; `identity`: a name that no other device of the host has.
  TurnLog(Tracer* trace, std::string device, std::string identity = {})
      : trace_(trace), device_(std::move(device)), identity_(std::move(identity)) {}

  void count_launch() noexcept { launches_.fetch_add(1, kRelaxed); }
  void count_stall() noexcept { stalls_.fetch_add(1, kRelaxed); }

  // The process has requested the device, or offered it to others, and got an answer. No lock is held.
  struct Answer {
    base::Nanoseconds asked;
    base::Nanoseconds now;
    bool waited = false;  // others had the device meanwhile
    bool holds = false;   // now; if not, the launch goes on without a turn
    bool joined = false;  // it still takes part
  };
  void answered(const Answer& answer) noexcept;

  // The device has been passed on. Called with the lock held, so the span has to be written later, without the lock.
  void gave_away(base::Nanoseconds now, const char* why) noexcept;
  [[nodiscard]] bool has_span() const noexcept { return ended_.has_value(); }
  [[nodiscard]] std::optional<TurnSpan> take_span() noexcept;
  void write(const std::optional<TurnSpan>& span) const noexcept {
    if (span) trace_->add_turn(this, {device_, identity_}, *span);
  }

  // What the process has had since it began, or was forked, and of which device.
  [[nodiscard]] observe::TurnFigures figures(base::Nanoseconds now) const;
  // Time waited so far.
  [[nodiscard]] base::Nanoseconds waited() const noexcept {
    return base::Nanoseconds(waited_.load(kRelaxed));
  }
  [[nodiscard]] const std::string& device() const { return device_; }

  // For the child of a fork.
  void reset() noexcept;

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  std::optional<TurnSpan> end_turn(base::Nanoseconds now, const char* why) noexcept;

  Tracer* const trace_;
  const std::string device_;
  const std::string identity_;
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<std::uint64_t> stalls_{0};
  std::atomic<std::int64_t> waited_{0};
  std::atomic<std::int64_t> longest_wait_{0};
  std::atomic<std::int64_t> held_{0};    // in turns that have ended
  std::atomic<std::int64_t> since_{-1};  // when the present turn began; -1: there is none
  std::uint64_t launch_ = 0;             // for which it began, as the trace counts; 0: none
  std::optional<TurnSpan> ended_;        // to be written
};

}  // namespace cleave::interpose
