#include "monitor/hypervisor/pressure_sampler.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace cleave::monitor {

using Clock = std::chrono::steady_clock;

PressureSampler::PressureSampler(Hypervisor& hypervisor, std::string uri, PressureOptions options,
                                 Running running, Sink sink)
    : hypervisor_(hypervisor),
      uri_(std::move(uri)),
      options_(std::move(options)),
      running_(std::move(running)),
      sink_(std::move(sink)),
      thread_([this] { run(); }) {}

PressureSampler::~PressureSampler() {
  stop();
  thread_.join();
}

void PressureSampler::follow_closely(bool closely) {
  const base::MutexLock lock(mutex_);
  if (std::exchange(closely_, closely) == closely) return;
  if (!closely) resample_ = true;  // the receiver expects the next sample sooner than it will come
  changed_.notify_all();
}

void PressureSampler::stop() {
  const base::MutexLock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool PressureSampler::wait_until_ended(TimePoint deadline) {
  base::MutexLock lock(mutex_);
  while (!ended_ && Clock::now() < deadline) changed_.wait_until(lock, deadline);
  return ended_;
}

std::chrono::milliseconds PressureSampler::interval() const {
  if (samples_ == 0 && !failed_) return std::min(options_.interval, kConnectingInterval);
  const bool often = !failed_ && (closely_ || samples_ < kFirstSamples);
  return often ? options_.interval : kIdleFactor * options_.interval;
}

void PressureSampler::run() {
  while (wait()) sample_once();
  session_.reset();
  const base::MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

// The watcher reports what is wrong with a hypervisor.
void PressureSampler::sample_once() {
  const std::optional<unsigned> running = running_();
  failed_ = false;
  try {
    if (!running) {
      forget();
    } else {
      if (!session_) session_ = hypervisor_.connect(uri_, nullptr);
      sample(*session_, *running);
      samples_ = std::min(samples_ + 1, kFirstSamples);
    }
  } catch (const std::exception&) {  // the hypervisor's, or std::bad_alloc
    forget();
    failed_ = true;
  }
  sampled_ = Clock::now();
  TimePoint due;
  {
    const base::MutexLock lock(mutex_);
    due = sampled_ + interval() + kGrace;
  }
  sink_(meter_.pressure(), due);
}

void PressureSampler::forget() {
  session_.reset();
  meter_.sample_nothing();
  samples_ = 0;
}

// Where no domain has the statistics, the host's are used; without any domain nothing waits.
void PressureSampler::sample(HypervisorConnection& session, unsigned running) {
  const std::vector<SchedulerTimes> times = session.scheduler_times();
  const TimePoint now = Clock::now();
  if (!times.empty() || running == 0) return meter_.sample(times, now);
  const auto stalled = options_.host_stall ? options_.host_stall() : std::nullopt;
  if (stalled) return meter_.sample_host(*stalled, now);
  meter_.sample_nothing();
}

// Until the next sample is due. False: there is none.
bool PressureSampler::wait() {
  base::MutexLock lock(mutex_);
  while (!stopping_ && !resample_ && Clock::now() < sampled_ + interval())
    changed_.wait_until(lock, sampled_ + interval());
  resample_ = false;
  return !stopping_;
}

}  // namespace cleave::monitor
