#include "monitor/hypervisor/watcher.h"

#include <algorithm>
#include <utility>

#include "monitor/log.h"

namespace cleave::monitor {

using Clock = std::chrono::steady_clock;

// Receives the events of one connection.
class Watcher::EventReceiver : public HypervisorEvents {
 public:
  EventReceiver(std::shared_ptr<State> state, std::uint64_t generation)
      : state_(std::move(state)), generation_(generation) {}

  void changed(const Uuid& domain, bool running) override {
    const base::MutexLock lock(state_->mutex);
    if (state_->generation != generation_) return;
    state_->domains.event(domain, running);
    ++state_->report.events;
    state_->unconfirmed = true;
    state_->changed.notify_all();
    // Before the first listing the events of a few domains are no count.
    if (!state_->report.counts) return;
    state_->report.counts = state_->domains.counts();
    publish(*state_);
  }

  void lost(const std::string& why) override {
    const base::MutexLock lock(state_->mutex);
    if (state_->generation != generation_) return;
    state_->lost = true;
    state_->why = why;
    // The watcher's thread may be stuck in a call.
    state_->report.connected = false;
    state_->report.counts.reset();
    state_->report.pressure.reset();
    publish(*state_);
    state_->changed.notify_all();
  }

 private:
  std::shared_ptr<State> state_;
  std::uint64_t generation_;
};

Watcher::Watcher(Hypervisor& hypervisor, std::string uri, WatcherOptions options, Sink sink)
    : hypervisor_(hypervisor),
      uri_(std::move(uri)),
      options_(std::move(options)),
      pause_(options_.first_pause),
      state_(std::make_shared<State>(options_.busy_share, std::move(sink))),
      sampler_(
          hypervisor, uri_, options_.pressure, [state = state_] { return running(*state); },
          [state = state_](auto pressure, TimePoint due) { take_pressure(*state, pressure, due); }),
      thread_([this] { run(); }) {}

Watcher::~Watcher() {
  stop();
  thread_.join();
}

void Watcher::stop() {
  sampler_.stop();
  const base::MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
}

bool Watcher::wait_until_ended(TimePoint deadline) {
  base::MutexLock lock(state_->mutex);
  while (!state_->ended && Clock::now() < deadline) state_->changed.wait_until(lock, deadline);
  return state_->ended;
}

void Watcher::publish(State& state) {
  if (!state.stopping) state.sink(state.report);
}

bool Watcher::stopping() {
  const base::MutexLock lock(state_->mutex);
  return state_->stopping;
}

void Watcher::run() {
  while (!stopping()) {
    try {
      serve_connection();
    } catch (const std::exception& error) {  // the hypervisor's, or std::bad_alloc
      disconnect(error.what());
      pause(pause_);
      pause_ = std::min(pause_ * 2, options_.longest_pause);
    }
  }
  const base::MutexLock lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
}

// Connects and follows. Throws when the connection is lost; returns when the watcher is stopped.
void Watcher::serve_connection() {
  std::shared_ptr<EventReceiver> feed;
  {
    const base::MutexLock lock(state_->mutex);
    feed = std::make_shared<EventReceiver>(state_, ++state_->generation);
    state_->lost = false;
    state_->unconfirmed = false;
    state_->domains.clear();
  }
  const std::unique_ptr<HypervisorConnection> session = hypervisor_.connect(uri_, feed);
  sampled_ = TimePoint{};
  list(*session);
  log_line("connected to " + uri_);
  last_logged_error_.clear();
  pause_ = options_.first_pause;
  follow(*session);
}

void Watcher::follow(HypervisorConnection& session) {
  while (!stopping()) {
    if (Clock::now() - sampled_ >= options_.interval) sample(session);
    wait_for_next_listing();
    {
      const base::MutexLock lock(state_->mutex);
      if (state_->stopping) return;
      if (state_->lost) throw HypervisorError(state_->why);
    }
    list(session);
  }
}

// Until the next listing is due, or an event calls for one, or the connection ends.
void Watcher::wait_for_next_listing() {
  base::MutexLock lock(state_->mutex);
  const TimePoint next = Clock::now() + options_.interval;
  while (!state_->stopping && !state_->lost && !state_->unconfirmed && Clock::now() < next)
    state_->changed.wait_until(lock, next);
  // Events come in bursts: one listing confirms all that come while the first settles.
  const TimePoint settled = Clock::now() + options_.settle;
  while (!state_->stopping && !state_->lost && state_->unconfirmed && Clock::now() < settled)
    state_->changed.wait_until(lock, settled);
}

void Watcher::list(HypervisorConnection& session) {
  {
    const base::MutexLock lock(state_->mutex);
    state_->unconfirmed = false;
    state_->domains.begin_listing();
  }
  const std::vector<Uuid> running = session.running();
  const base::MutexLock lock(state_->mutex);
  if (state_->lost) throw HypervisorError(state_->why);
  const bool first = !state_->report.counts;
  const bool differs = state_->domains.end_listing(running);
  ++state_->report.listings;
  if (differs && !first) ++state_->report.corrections;
  state_->report.connected = true;
  state_->report.listed = Clock::now();
  state_->report.counts = state_->domains.counts();
  publish(*state_);
}

void Watcher::sample(HypervisorConnection& session) {
  const std::vector<CpuTime> times = session.cpu_times();
  sampled_ = Clock::now();
  const base::MutexLock lock(state_->mutex);
  if (state_->lost) throw HypervisorError(state_->why);
  state_->domains.sample(times, sampled_);
  state_->report.counts = state_->domains.counts();
  publish(*state_);
}

std::optional<unsigned> Watcher::running(State& state) {
  const base::MutexLock lock(state.mutex);
  return state.report.counts ? std::optional(state.report.counts->running) : std::nullopt;
}

void Watcher::take_pressure(State& state, std::optional<double> pressure, TimePoint due) {
  const base::MutexLock lock(state.mutex);
  if (!state.report.counts) return;  // lost since the sample began
  state.report.pressure = pressure;
  state.report.pressure_due = due;
  publish(state);
}

void Watcher::pause(std::chrono::milliseconds duration) {
  base::MutexLock lock(state_->mutex);
  const TimePoint end = Clock::now() + duration;
  while (!state_->stopping && Clock::now() < end) state_->changed.wait_until(lock, end);
}

void Watcher::disconnect(const std::string& why) {
  {
    const base::MutexLock lock(state_->mutex);
    if (state_->stopping) return;
    ++state_->generation;  // later events of the dead connection are ignored
    // A connection counts from its first listing on.
    if (last_logged_error_.empty() && state_->report.listings > 0) ++state_->report.losses;
    state_->report.connected = false;
    state_->report.counts.reset();
    state_->report.pressure.reset();
    publish(*state_);
  }
  if (why == last_logged_error_) return;
  last_logged_error_ = why;
  log_line("no connection to " + uri_ + ": " + why + "; trying again");
}

}  // namespace cleave::monitor
