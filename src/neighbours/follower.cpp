#include "neighbours/follower.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/eventfd.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

// The thread takes none of the program's signals: handlers expect to run on threads that the program knows.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

std::vector<std::optional<Heard>> heard_by(const std::vector<std::unique_ptr<Source>>& sources) {
  std::vector<std::optional<Heard>> heard;
  heard.reserve(sources.size());
  for (const auto& source : sources) heard.push_back(source->heard());
  return heard;
}

// For poll(), rounded up so that what is waited for is there afterwards.
int milliseconds_until(base::Nanoseconds then, base::Nanoseconds now) {
  constexpr base::Nanoseconds kLongest = 1h;
  const base::Nanoseconds left = std::clamp(then - now, base::Nanoseconds(1), kLongest);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

Follower::Follower(std::vector<std::unique_ptr<Source>> sources, const Rules& rules, Listener listener)
    : sources_(std::move(sources)),
      rules_(rules),
      listener_(std::move(listener)),
      knowledge_(sources_.size(), Knowledge::nothing) {
  wake_.open(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

std::shared_ptr<Follower> Follower::start(std::vector<std::unique_ptr<Source>> sources, const Rules& rules,
                                          Listener listener) noexcept try {
  auto made = std::make_shared<Follower>(std::move(sources), rules, std::move(listener));
  const SignalsBlocked blocked;
  // On its own, since exit() must not wait for it; it keeps alive what it works on.
  std::thread([made] { made->run(); }).detach();
  return made;
} catch (...) {
  return nullptr;
}

void Follower::run() noexcept {
  pthread_setname_np(pthread_self(), "cleave");
  while (!stopping_.load(std::memory_order_relaxed)) {
    const base::Nanoseconds now = base::Clock::system().now();
    try {
      step(now);
      wait(now);
    } catch (...) {  // out of memory: the count ages when it next can
      std::this_thread::sleep_for(1s);
    }
  }
  const std::scoped_lock lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void Follower::step(base::Nanoseconds now) {
  for (const auto& source : sources_) {
    source->step(now);
    if (const std::string complaint = source->take_complaint(); !complaint.empty()) {
      listener_.complaint(complaint);
    }
  }
  publish(now);
}

void Follower::publish(base::Nanoseconds now) {
  std::uint64_t fell_silent = 0;
  bool settled = true;
  std::vector<SourceReport> reports;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = *sources_[i];
    reports.push_back({source.name(), source.place(), source.state(), source.heard()});
    const Knowledge before = std::exchange(knowledge_[i], judge(source.heard(), rules_, now));
    if (before == Knowledge::known && knowledge_[i] == Knowledge::stale) ++fell_silent;
    settled = settled && source.settled();
  }
  const unsigned vms = weigh_all(heard_by(sources_), rules_, now);
  const unsigned before = std::exchange(vms_, vms);
  if (vms != before) listener_.count(vms);

  const std::scoped_lock lock(mutex_);
  figures_.sources = std::move(reports);
  figures_.stale += fell_silent;
  if (settled_ && vms != before) ++figures_.changes;
  if (settled && !std::exchange(settled_, true)) changed_.notify_all();
}

void Follower::wait(base::Nanoseconds now) const {
  std::vector<pollfd> descriptors = {{wake_.ours() ? wake_.get() : -1, POLLIN, 0}};
  base::Nanoseconds until = next_stale(heard_by(sources_), rules_, now).value_or(base::Nanoseconds::max());
  for (const auto& source : sources_) {
    const Source::Wish wish = source->wish();
    descriptors.push_back({wish.fd, wish.events, 0});
    until = std::min(until, wish.until);
  }
  poll(descriptors.data(), descriptors.size(), milliseconds_until(until, now));
}

void Follower::await_first_answers(base::Nanoseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return settled_ || finished_; });
}

bool Follower::stop(base::Nanoseconds patience) {
  stopping_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  if (wake_.ours() && write(wake_.get(), &one, sizeof one) < 0) {  // full: then it is awake anyway
  }
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return finished_; });
}

Follower::Figures Follower::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

void Follower::forsake() noexcept {
  wake_.close();
  for (const auto& source : sources_) source->forsake();
}

}  // namespace cleave::neighbours
