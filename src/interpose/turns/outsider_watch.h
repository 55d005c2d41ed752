// Whether room has to be left for processes that are not under Cleave and use a device too: looked for once a second, by a thread
// of ours, while the process lives. Only for NVIDIA's GPUs, and where the list of their processes holds this one.
//
// Thread-safe. A forked child does not look, since the driver's library does not survive a fork.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace cleave::interpose {

// In which seconds room is left. It costs device time, and most processes that have a GPU open do nothing with it: after two
// seconds in which nobody came in between, for one second not, and then for twice as long each time, up to eight seconds.
class RoomForOutsiders {
 public:
  // For the next second. `others`: there are some. `disturbed`: one of them came in between in the last one.
  bool step(bool others, bool disturbed);

 private:
  bool leaves_ = false;
  int undisturbed_ = 0;  // seconds, while room is left
  int pause_ = 0;        // seconds, the latest
  int left_ = 0;         // of that
};

class OutsiderWatch {
 public:
  // `address`: see GpuProcesses; empty: there is nothing to look for.
  explicit OutsiderWatch(std::string address) : address_(std::move(address)) {}
  OutsiderWatch(const OutsiderWatch&) = delete;
  OutsiderWatch& operator=(const OutsiderWatch&) = delete;
  ~OutsiderWatch() { stop(); }

  // Begins to look when called for the first time: one relaxed load afterwards. The thread has all signals blocked, and is
  // detached, since exit() must not wait for the driver.
  void start() noexcept {
    if (!started_.load(std::memory_order_relaxed)) start_thread();
  }
  // Whether room has to be left now; one relaxed load.
  [[nodiscard]] bool found() const noexcept { return state_->found.load(std::memory_order_relaxed); }
  // A command took much longer than expected, where room was left after it.
  void note_disturbed() noexcept { state_->disturbed.store(true, std::memory_order_relaxed); }
  // In place of the thread.
  void note(bool found) noexcept { state_->found = found; }

  // Ends the thread. Waits until it is not in a call of the driver's library, which the process may be about to unload, but no
  // longer than a second.
  void stop() noexcept;
  void reset_in_child() noexcept;

 private:
  struct State {
    std::atomic<bool> found{false};
    std::atomic<bool> disturbed{false};
    std::atomic<bool> stopped{false};
    std::atomic<bool> calls{false};  // the thread is in the library
  };

  void start_thread() noexcept;
  static void watch(const std::string& address, const std::shared_ptr<State>& state) noexcept;

  const std::string address_;
  std::atomic<bool> started_{false};
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace cleave::interpose
