// The one thread that keeps the count: it steps the sources, weighs what they say, and stores the result
// where launches read it. It sleeps in between, and ages the counts while nobody says anything.
//
// Thread-safe. After fork() there is no such thread in the child: call close_in_child() there and make another one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "neighbours/source.h"
#include "neighbours/staleness.h"
#include "neighbours/verified_descriptor.h"

namespace cleave::neighbours {

// What one source says, for people.
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
    std::uint64_t stale = 0;    // times that a source fell silent for too long
    std::uint64_t changes = 0;  // times that the count became another one, after the first answers
  };

  // The caller's answers to what happens; called on the thread.
  struct Observer {
    std::function<void(unsigned vms)> count;
    std::function<void(const std::string& warning)> warning;
  };

  // Starts the thread, with all signals blocked in it. Null where the system gives no thread.
  static std::shared_ptr<SourcePoller> start(std::vector<std::unique_ptr<Source>> sources,
                                             const StalenessRules& rules, Observer observer) noexcept;

  // Waits until every source has given its first answer, and no longer than `timeout`.
  void wait_for_first_answers(base::Nanoseconds timeout);

  // Ends the thread, and waits for its end no longer than `timeout` (it may be in the resolver): false if it
  // still runs then. The count stays as it is.
  bool stop(base::Nanoseconds timeout);

  [[nodiscard]] Counters counters() const;

  // In a forked child: closes what the child has inherited of the sources.
  void close_in_child() noexcept;

  // Only start() makes one.
  SourcePoller(std::vector<std::unique_ptr<Source>> sources, const StalenessRules& rules, Observer observer);

 private:
  void run() noexcept;
  void step(base::Nanoseconds now);
  void publish(base::Nanoseconds now);
  void wait(base::Nanoseconds now) const;

  const std::vector<std::unique_ptr<Source>> sources_;  // touched by the thread only
  const StalenessRules rules_;
  const Observer observer_;
  VerifiedDescriptor wake_;  // an eventfd
  std::atomic<bool> stopping_{false};

  // Of the thread.
  std::vector<Freshness> freshness_;
  unsigned vms_ = 0;  // 0: not published yet

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Counters counters_;
  bool first_answer_known_ = false;
  bool finished_ = false;
};

}  // namespace cleave::neighbours
