// Which Cleave splits launches if several are stacked: the one nearest to the driver. It alone counts and reports.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/opencl.h"
#include "base/settings/configuration.h"

namespace cleave::interpose {

// A vendor library below another face is not visible to it through clGetCleaveInfo, since loaders forward only names
// with a vendor's suffix. The upper face looks up a function of this name and calls it, and the lower one stops
// splitting: the upper one sees all platforms.
inline constexpr const char* kStandAside = "clStandAsideCLEAVE";

class SplitOwner {
 public:
  // Both must outlive this.
  SplitOwner(const Table& next, const base::Configuration& configuration)
      : next_(next), configuration_(configuration) {}

  // Whether this interposer splits launches. Determined by the first call and not before, since only then is the loader
  // below certain to answer. The owner reports problems and notices of its configuration.
  bool is_this() noexcept {
    const State known = state_.load(std::memory_order_acquire);
    return (known == State::unknown ? determine() : known) != State::another;
  }

  // Determines it now if there is something to report that does not wait for a launch: problems and notices of the
  // configuration, and what is reported at exit.
  void report_mistakes() noexcept {
    const base::Settings& settings = configuration_.settings;
    const bool reports = !settings.stats.empty() || settings.explain || !settings.trace.empty();
    if (reports || !configuration_.problems.empty() || !configuration_.notices.empty()) is_this();
  }

  // At the process's exit, when the loader below may be gone: whether this interposer splits, or would have. The latter
  // if nothing is known of another.
  bool is_this_at_exit() noexcept;

  // Whether begin() has succeeded: one load.
  [[nodiscard]] bool has_begun() const { return state_.load(std::memory_order_acquire) == State::begun; }

  // Whether another interposer is known to split.
  [[nodiscard]] bool is_another() const { return state_.load(std::memory_order_acquire) == State::another; }

  // This interposer begins to split. Returns false if a face above has taken over meanwhile.
  bool begin() noexcept;

  // A face above this one splits; it calls this through the function named kStandAside.
  void stand_aside() { state_.store(State::another, std::memory_order_release); }

  // The child of a fork begins anew with its own first launch.
  void after_fork_in_child() noexcept;

 private:
  enum class State : std::uint8_t { unknown, another, this_one, begun };
  State determine() noexcept;
  void report() const noexcept;

  const Table& next_;
  const base::Configuration& configuration_;
  std::atomic<State> state_{State::unknown};
};

}  // namespace cleave::interpose
