#include "neighbours/source_poller.h"

#include <algorithm>
#include <poll.h>
#include <thread>
#include <utility>

#include "base/threads/scoped_thread_state.h"
#include "base/threads/system_call_filter.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

std::vector<std::optional<TimedCount>> last_counts(const std::vector<std::unique_ptr<Source>>& sources) {
  std::vector<std::optional<TimedCount>> last_count;
  last_count.reserve(sources.size());
  for (const auto& source : sources) last_count.push_back(source->last_count());
  return last_count;
}

// For poll(); rounded up, so that `then` has passed when it returns.
int milliseconds_until(base::Nanoseconds then, base::Nanoseconds now) {
  constexpr base::Nanoseconds kMaxWait = 1h;
  const base::Nanoseconds left = std::clamp(then - now, base::Nanoseconds(1), kMaxWait);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

SourcePoller::SourcePoller(std::vector<std::unique_ptr<Source>> sources, base::Nanoseconds max_age,
                           Observer observer)
    : sources_(std::move(sources)),
      max_age_(max_age),
      observer_(std::move(observer)),
      freshness_(sources_.size(), Freshness::never) {
  wake_.open();  // without it stop() is noticed late
}

std::shared_ptr<SourcePoller> SourcePoller::start(std::vector<std::unique_ptr<Source>> sources,
                                                  base::Nanoseconds max_age, Observer observer) noexcept try {
  auto made = std::make_shared<SourcePoller>(std::move(sources), max_age, std::move(observer));
  const base::ScopedSignalBlock blocked;
  std::thread([made] { made->run(); }).detach();
  return made;
} catch (...) {
  return nullptr;
}

void SourcePoller::run() noexcept {
  pthread_setname_np(pthread_self(), "cleave");
  // A program that shuts itself in after it has begun need not expect that this thread opens anything.
  while (!stopping_.load(std::memory_order_relaxed) && !base::has_new_system_call_filter()) {
    const base::Nanoseconds now = base::Clock::system().now();
    try {
      step(now);
      wait(now);
    } catch (...) {  // out of memory: try again later
      std::this_thread::sleep_for(1s);
    }
  }
  const base::MutexLock lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void SourcePoller::step(base::Nanoseconds now) {
  for (const auto& source : sources_) {
    source->step(now);
    if (const std::string warning = source->take_warning(); !warning.empty()) {
      observer_.warning(warning);
    }
    check_bound(*source);
  }
  if (observer_.pressure) next_pressure_ = observer_.pressure(fresh_pressure(now), now);
  publish(now);
}

std::optional<unsigned> SourcePoller::fresh_pressure(base::Nanoseconds now) const {
  std::optional<unsigned> highest;
  for (const auto& source : sources_) {
    const auto pressure = source->last_pressure();
    if (pressure && now - pressure->at <= max_age_)
      highest = std::max(highest.value_or(0), pressure->thousandths);
  }
  return highest;
}

void SourcePoller::check_bound(const Source& source) {
  const auto count = source.last_count();
  if (bounded_ || !count || count->vms <= kMaxBelievedVms) return;
  bounded_ = true;
  if (!observer_.bounded) return;
  const std::string endpoint = source.endpoint();
  observer_.bounded(endpoint.empty() ? source.name() : endpoint, count->vms);
}

void SourcePoller::publish(base::Nanoseconds now) {
  std::uint64_t became_stale = 0;
  bool first_answer_known = true;
  std::vector<SourceStatus> reports;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = *sources_[i];
    reports.push_back({source.name(), source.endpoint(), source.state(), source.last_count()});
    const Freshness before = std::exchange(freshness_[i], freshness_of(source.last_count(), max_age_, now));
    if (before == Freshness::fresh && freshness_[i] == Freshness::stale) ++became_stale;
    first_answer_known = first_answer_known && source.first_answer_known();
  }
  const unsigned vms = combined_count(last_counts(sources_));
  const unsigned before = std::exchange(vms_, vms);
  if (vms != before) observer_.count(vms);

  const base::MutexLock lock(mutex_);
  counters_.sources = std::move(reports);
  counters_.stale += became_stale;
  if (first_answer_known_ && vms != before) ++counters_.changes;
  if (first_answer_known && !std::exchange(first_answer_known_, true)) changed_.notify_all();
}

void SourcePoller::wait(base::Nanoseconds now) const {
  std::vector<pollfd> descriptors = {{wake_.is_valid() ? wake_.descriptor() : -1, POLLIN, 0}};
  base::Nanoseconds until =
      next_expiry(last_counts(sources_), max_age_, now).value_or(base::Nanoseconds::max());
  until = std::min(until, next_pressure_);
  for (const auto& source : sources_) {
    const Source::WakeCondition wake_condition = source->wake_condition();
    descriptors.push_back({wake_condition.fd, wake_condition.events, 0});
    until = std::min(until, wake_condition.until);
  }
  poll(descriptors.data(), descriptors.size(), milliseconds_until(until, now));
}

void SourcePoller::wait_for_first_answers(base::Nanoseconds timeout) {
  const base::Nanoseconds deadline = base::Clock::system().now() + timeout;
  base::MutexLock lock(mutex_);
  while (!first_answer_known_ && !finished_) {
    if (!changed_.wait_for(lock, deadline - base::Clock::system().now())) return;
  }
}

bool SourcePoller::stop(base::Nanoseconds timeout) {
  stopping_.store(true, std::memory_order_relaxed);
  wake_.wake();
  const base::Nanoseconds deadline = base::Clock::system().now() + timeout;
  base::MutexLock lock(mutex_);
  while (!finished_) {
    if (!changed_.wait_for(lock, deadline - base::Clock::system().now())) return finished_;
  }
  return true;
}

SourcePoller::Counters SourcePoller::counters() const {
  const base::MutexLock lock(mutex_);
  return counters_;
}

void SourcePoller::close_in_child() noexcept {
  wake_.close();
  for (const auto& source : sources_) source->close_in_child();
}

}  // namespace cleave::neighbours
