// This process's part in the turns on one device (docs/turns.md):
//
//   if (turns.contended()) {                 // one relaxed load; alone, nothing else is done
//     if (turns.begin()) {                   // blocks until this process holds the device
//       for (each slice) {
//         if (turns.should_yield()) { wait for the slices in flight; turns.yield(); }
//         enqueue the slice;
//       }
//       turns.end(grace);                    // when all of it has ended on the device
//     }
//   }
//
// Threads of one process share its turns: while one is between begin() and end(), begin() of another returns at once.
// Where turns are not possible (any more), begin() and yield() return false and the caller goes on without them; they never
// wait for a file that cannot be used.
//
// One thread is started by enter(). It sleeps until somebody joins, leaves or declares an intent, blocks all
// signals, and ends after leave().
//
// Another implementation may take the turns for this process (what is virtual): where it cannot be trusted with the file
// (interpose/broker).
//
// Thread-safe. Nothing throws but the constructor and snapshot(), for want of memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "turns/report.h"
#include "turns/scheduler.h"
#include "turns/shared_file.h"
#include "turns/wait_log.h"

namespace cleave::turns {

// The class that a setting names.
Priority priority_of(base::TurnPriority priority) noexcept;

// How long the others should have to wait at most for the end of a slice: some of those that have requested the device
// in the last second need it only briefly, or are of a higher class.
enum class Haste : std::uint8_t { none, brief, higher_class };

struct Options {
  std::string folder;    // the registry's
  std::string identity;  // the device's: the same text in every process
  std::string device{};  // its name, for reports
  std::uint32_t weight = kDefaultWeight;
  Priority priority = Priority::normal;
  std::string tenant{};   // empty: none
  std::uint16_t cap = 0;  // of the device's time, permille; 0: none
  bool borrows = false;   // more than that while no other participant wants the device
  bool declared = true;   // an intent in addition to weight, class and cap
  Ns quantum = Scheduler::kDefaultQuantum;
  Timing timing;
  // Called when contended() may have changed, by the thread that has noticed. May not call this again.
  std::function<void()> on_change{};
};

class Turns {
 public:
  // Must outlive the last fork for which `forks` is called.
  Turns(base::ForkLocks& forks, Options options);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  virtual ~Turns() { leave(); }

  // Joins. False if that is not possible, and `problem` says why in one line. Does nothing when called again. A forked
  // child has not joined, whatever its parent had.
  virtual bool enter(std::string& problem);
  virtual void leave() noexcept;
  // The same when the process exits, perhaps in a signal handler. If this or another thread is in the middle of a step,
  // the next step leaves, at most a lease later; if there is no next step, the others notice by themselves.
  virtual void leave_at_exit() noexcept;

  // Whether this process takes part. Not any more if begin() or yield() could not wait.
  [[nodiscard]] virtual bool has_joined() noexcept {
    const base::MutexLock lock(mutex_);
    return file_ != nullptr;
  }
  // Whether the device has to be requested: another process has joined, and it or this one has declared an intent, or
  // this one's cap applies even while it is alone.
  [[nodiscard]] bool contended() const noexcept {
    return company_->takes_turns.load(std::memory_order_relaxed) ||
           is_capped_.load(std::memory_order_relaxed);
  }
  // How often turns have begun to be taken: what was launched before may be on the device still.
  [[nodiscard]] std::uint32_t periods() const noexcept {
    return company_->periods.load(std::memory_order_relaxed);
  }

  // Replaces the weight that the options gave; also while other threads wait in begin(). Cheap if nothing changes.
  // `divisor`: only this part of the weight counts for the present, which by itself is no intent.
  virtual void set_weight(std::uint32_t weight, std::uint32_t divisor = 1) noexcept;

  // The same for the cap.
  virtual void set_cap(std::uint16_t cap, bool borrows) noexcept;

  [[nodiscard]] virtual bool begin() noexcept;
  // Since the latest turn began, the device was held but idle for this long, which is not charged to the cap. At most
  // the duration of the turn is believed in total.
  virtual void credit(Ns idle) noexcept;
  // When the turn began in which the latest begin() or yield() got the device.
  [[nodiscard]] Ns turn_began() const noexcept { return turn_began_.load(std::memory_order_relaxed); }
  // How long before their return that was, if another process waits for the device on behalf of this one.
  [[nodiscard]] virtual Ns grant_delay() const noexcept { return 0; }
  // Whether the device should be passed on now. Also sends a heartbeat.
  [[nodiscard]] virtual bool should_yield() noexcept;
  // The number of the turn in which this process keeps the device although others should have it; 0: there is none.
  // Sends no heartbeat. Reads the file.
  [[nodiscard]] std::uint64_t overdue_turn() noexcept;
  // As of the latest begin(), yield() or should_yield().
  [[nodiscard]] Haste haste_of_others() const noexcept { return haste_.load(std::memory_order_relaxed); }
  // Whether it should be passed on only because of the cap, with no other request for it. As of the latest
  // should_yield().
  [[nodiscard]] bool pauses() const noexcept { return pauses_.load(std::memory_order_relaxed); }
  // Passes the device on if others should have it, and waits until it comes back. Requires: between begin() and end(),
  // and nothing of this process is on the device. While it waits it checks `interrupt` (may be null) at least once per
  // lease: if that is not 0, the process stops requesting the device, as after end(), and the result is false.
  [[nodiscard]] virtual bool yield(const std::atomic<int>* interrupt = nullptr) noexcept;
  // This thread is done. If it was the last one, the process keeps the device for `grace` at most, so that a begin() until then
  // finds it still held.
  virtual void end(Ns grace = 0) noexcept;

  // How often a begin() or yield() has had to wait.
  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }
  // For whom this process has waited, and how long. Nothing if another thread is in the middle of a step.
  [[nodiscard]] virtual WaitCauses wait_causes();
  // Why a begin() or yield() has ended the turns of this process, in a line; empty if none has.
  [[nodiscard]] virtual std::string problem() noexcept;

  // All participants. Empty if this process has not joined.
  [[nodiscard]] std::vector<ParticipantReport> snapshot();

 private:
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);
  bool join(std::string& problem) CLEAVE_REQUIRES(mutex_);
  bool rejoin(bool& rejoined) CLEAVE_REQUIRES(mutex_);
  void idle(Ns grace) CLEAVE_REQUIRES(mutex_);
  void credit(View state, Ns idle, Ns now) CLEAVE_REQUIRES(mutex_);
  void show_settings(View state) const CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] bool is_mine(const View& state) const CLEAVE_REQUIRES(mutex_);
  // An atomic step of this participant. Before it, what others must not change in its entry is restored, and impossible
  // values are corrected.
  template <typename Step>
  bool update(Step step) CLEAVE_REQUIRES(mutex_);
  void leave_file() CLEAVE_REQUIRES(mutex_);
  void give_up() CLEAVE_REQUIRES(mutex_);
  void watch(const std::shared_ptr<SharedFile>& file);
  [[nodiscard]] bool declares() const {
    return options_.declared || own_weight_ != kDefaultWeight || cap_ != 0 ||
           options_.priority != Priority::normal;
  }
  // Makes `step`, and waits for as long as its answers say so. Joins again if the entry is gone.
  template <typename Step>
  bool step_and_wait(Step step, const std::atomic<int>* interrupt = nullptr) CLEAVE_REQUIRES(mutex_);

 protected:
  // Of the others, as the watching thread sees them.
  struct Company {
    std::atomic<bool> takes_turns{false};
    std::atomic<std::uint32_t> periods{0};
    void follow(bool take_turns) {
      if (!takes_turns.exchange(take_turns) && take_turns) ++periods;
    }
  };

 private:
  static void follow_members(const SharedFile& file, Company& company, const std::atomic<bool>& watching,
                             const std::function<void()>& on_change);

 protected:
  // Read by contended(), and so by every launch.
  const std::shared_ptr<Company> company_;
  std::atomic<bool> is_capped_;

  const Options options_;
  std::atomic<Haste> haste_{Haste::none};
  std::atomic<bool> pauses_{false};
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<Ns> turn_began_{0};

 private:
  const Scheduler scheduler_;
  const Protocol protocol_;
  std::atomic<std::uint32_t> weight_;      // that counts
  std::atomic<std::uint32_t> own_weight_;  // undivided
  std::atomic<std::uint32_t> cap_;         // permille, shifted; the lowest bit: borrows
  std::atomic<bool> leaving_{false};       // leave_at_exit() has been called

  base::Mutex mutex_;  // held during a step, never while waiting for a turn
  std::shared_ptr<SharedFile> file_ CLEAVE_GUARDED_BY(mutex_);
  std::shared_ptr<std::atomic<bool>> watching_ CLEAVE_GUARDED_BY(mutex_);
  Self self_ CLEAVE_GUARDED_BY(mutex_);
  Remembered known_ CLEAVE_GUARDED_BY(mutex_);
  Ns idle_ CLEAVE_GUARDED_BY(mutex_) = 0;  // that has not been credited yet
  std::uint64_t credited_turn_ CLEAVE_GUARDED_BY(mutex_) = 0;
  Ns credited_ CLEAVE_GUARDED_BY(mutex_) = 0;     // in that turn
  unsigned users_ CLEAVE_GUARDED_BY(mutex_) = 0;  // threads between begin() and end()
  Ns reaped_at_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::string problem_ CLEAVE_GUARDED_BY(mutex_);
  WaitLog wait_log_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::turns
