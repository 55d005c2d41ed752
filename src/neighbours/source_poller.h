// The thread that keeps the count current: it steps the sources, combines their counts, and passes the result on. It
// sleeps between steps, and notices when counts become stale.
//
// The thread is detached, since exit() must not wait for it. It shares the ownership of the SourcePoller, and ends
// when stop() is called or the process exits.
//
// Thread-safe. A forked child has no such thread: it calls close_in_child() and starts a new one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files/wake_channel.h"
#include "base/threads/mutex.h"
#include "neighbours/source.h"
#include "neighbours/staleness.h"

namespace cleave::neighbours {

// The state of one source, for display.
struct SourceStatus {
  std::string name;
  std::string endpoint;
  std::string state;
  std::optional<TimedCount> last_count;
};

class SourcePoller {
 public:
  struct Counters {
    std::vector<SourceStatus> sources;
    std::uint64_t stale = 0;    // how often a count became stale
    std::uint64_t changes = 0;  // how often the combined count changed, after the first answers
  };

  // Callbacks, called on the thread.
  struct Observer {
    std::function<void(unsigned vms)> count;
    std::function<void(const std::string& warning)> warning;
    // At every step: the highest pressure of the sources, in thousandths, empty if none is known or fresh. Returns when it
    // wants to be called again at the latest. May be empty.
    std::function<base::Nanoseconds(std::optional<unsigned> pressure, base::Nanoseconds now)> pressure;
    // The first time that a source reports more than kMaxBelievedVms. May be empty.
    std::function<void(const std::string& source, unsigned vms)> bounded;
  };

  // Starts the thread, with all signals blocked in it. Null if it cannot be started.
  static std::shared_ptr<SourcePoller> start(std::vector<std::unique_ptr<Source>> sources,
                                             base::Nanoseconds max_age, Observer observer) noexcept;

  // Waits until the first answer of every source is known, but no longer than `timeout`.
  void wait_for_first_answers(base::Nanoseconds timeout) CLEAVE_EXCLUDES(mutex_);

  // Requests the thread's end, and waits for it no longer than `timeout`, since it may be in the resolver. Returns
  // false if it still runs then. The count stays as it is.
  bool stop(base::Nanoseconds timeout) CLEAVE_EXCLUDES(mutex_);

  [[nodiscard]] Counters counters() const CLEAVE_EXCLUDES(mutex_);

  // In a forked child: closes the inherited descriptors.
  void close_in_child() noexcept;

  // For start(), which needs std::make_shared.
  SourcePoller(std::vector<std::unique_ptr<Source>> sources, base::Nanoseconds max_age, Observer observer);

 private:
  void run() noexcept;
  void step(base::Nanoseconds now);
  void check_bound(const Source& source);
  void publish(base::Nanoseconds now) CLEAVE_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<unsigned> fresh_pressure(base::Nanoseconds now) const;
  void wait(base::Nanoseconds now) const;

  const std::vector<std::unique_ptr<Source>> sources_;  // used by the thread only
  const base::Nanoseconds max_age_;
  const Observer observer_;
  base::WakeChannel wake_;
  std::atomic<bool> stopping_{false};

  // Used by the thread only.
  std::vector<Freshness> freshness_;
  unsigned vms_ = 0;  // 0: not published yet
  base::Nanoseconds next_pressure_ = base::Nanoseconds::max();
  bool bounded_ = false;

  mutable base::Mutex mutex_;
  base::CondVar changed_;  // of the two flags
  Counters counters_ CLEAVE_GUARDED_BY(mutex_);
  bool first_answer_known_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool finished_ CLEAVE_GUARDED_BY(mutex_) = false;
};

}  // namespace cleave::neighbours
