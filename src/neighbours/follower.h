// The one thread that keeps the count: it steps the sources, weighs what they say, and stores the result
// where launches read it. It sleeps in between, and ages the counts while nobody says anything.
//
// Thread-safe. After fork() there is no such thread in the child: call forsake() there and make another one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "neighbours/descriptor.h"
#include "neighbours/judge.h"
#include "neighbours/source.h"

namespace cleave::neighbours {

// What one source says, for people.
struct SourceReport {
  std::string name;
  std::string place;
  std::string state;
  std::optional<Heard> heard;
};

class Follower {
 public:
  struct Figures {
    std::vector<SourceReport> sources;
    std::uint64_t stale = 0;    // times that a source fell silent for too long
    std::uint64_t changes = 0;  // times that the count became another one, after the first answers
  };

  // The caller's answers to what happens; called on the thread.
  struct Listener {
    std::function<void(unsigned vms)> count;
    std::function<void(const std::string& complaint)> complaint;
  };

  // Starts the thread, with all signals blocked in it. Null where the system gives no thread.
  static std::shared_ptr<Follower> start(std::vector<std::unique_ptr<Source>> sources, const Rules& rules,
                                         Listener listener) noexcept;

  // Waits until every source has given its first answer, and no longer than `patience`.
  void await_first_answers(base::Nanoseconds patience);

  // Ends the thread, and waits for its end no longer than `patience` (it may be in the resolver): false if it
  // still runs then. The count stays as it is.
  bool stop(base::Nanoseconds patience);

  [[nodiscard]] Figures figures() const;

  // In a forked child: closes what the child has inherited of the sources.
  void forsake() noexcept;

  // Only start() makes one.
  Follower(std::vector<std::unique_ptr<Source>> sources, const Rules& rules, Listener listener);

 private:
  void run() noexcept;
  void step(base::Nanoseconds now);
  void publish(base::Nanoseconds now);
  void wait(base::Nanoseconds now) const;

  const std::vector<std::unique_ptr<Source>> sources_;  // touched by the thread only
  const Rules rules_;
  const Listener listener_;
  Descriptor wake_;  // an eventfd
  std::atomic<bool> stopping_{false};

  // Of the thread.
  std::vector<Knowledge> knowledge_;
  unsigned vms_ = 0;  // 0: not published yet

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Figures figures_;
  bool settled_ = false;
  bool finished_ = false;
};

}  // namespace cleave::neighbours
