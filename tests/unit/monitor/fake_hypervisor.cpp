#include "fake_hypervisor.h"

#include <utility>

namespace cleave::monitor {

Uuid uuid_of(unsigned domain) {
  Uuid uuid{};
  uuid[0] = static_cast<unsigned char>(domain);
  uuid[1] = static_cast<unsigned char>(domain >> 8);
  return uuid;
}

class FakeHypervisor::FakeSession : public HypervisorConnection {
 public:
  explicit FakeSession(FakeHypervisor& owner) : owner_(owner) {}

  std::vector<Uuid> running() override {
    Lock lock(owner_.mutex_);
    owner_.pass(lock);
    ++owner_.list_calls;
    std::vector<Uuid> uuids;
    for (const unsigned domain : owner_.running_) uuids.push_back(uuid_of(domain));
    return uuids;
  }

  std::vector<CpuTime> cpu_times() override {
    Lock lock(owner_.mutex_);
    owner_.pass(lock);
    // No domain uses any time, so after two samples none is busy.
    std::vector<CpuTime> times;
    for (const unsigned domain : owner_.running_)
      times.push_back({uuid_of(domain), std::chrono::nanoseconds(1)});
    return times;
  }

  std::vector<SchedulerTimes> scheduler_times() override {
    Lock lock(owner_.mutex_);
    ++owner_.statistics_calls;
    ++owner_.blocked_statistics;
    owner_.changed_.wait(lock, [&] { return !owner_.statistics_block_; });
    --owner_.blocked_statistics;
    if (owner_.fails_) throw HypervisorError("the call failed");
    std::vector<SchedulerTimes> times;
    for (const auto& [domain, time] : owner_.scheduled_)
      if (owner_.running_.contains(domain)) times.push_back(time);
    return times;
  }

 private:
  FakeHypervisor& owner_;
};

void FakeHypervisor::pass(Lock& lock) {
  ++blocked_calls;
  changed_.wait(lock, [&] { return !blocks_; });
  --blocked_calls;
  if (fails_) throw HypervisorError("the call failed");
}

std::unique_ptr<HypervisorConnection> FakeHypervisor::connect(const std::string& /*uri*/,
                                                              std::shared_ptr<HypervisorEvents> events) {
  Lock lock(mutex_);
  if (!events) return std::make_unique<FakeSession>(*this);
  ++attempts;
  pass(lock);
  if (refuses_connections_) throw HypervisorError("refused");
  events_ = std::move(events);
  return std::make_unique<FakeSession>(*this);
}

void FakeHypervisor::run(unsigned domain, bool runs, bool drop_event) {
  std::shared_ptr<HypervisorEvents> events;
  {
    const Lock lock(mutex_);
    if (runs) {
      running_.insert(domain);
    } else {
      running_.erase(domain);
    }
    if (!drop_event) events = events_;
  }
  if (events) events->changed(uuid_of(domain), runs);
}

void FakeHypervisor::schedule(unsigned domain, std::chrono::nanoseconds ran,
                              std::chrono::nanoseconds waited) {
  const Lock lock(mutex_);
  scheduled_[domain] = {uuid_of(domain), 0, ran, waited};
}

void FakeHypervisor::refuse(bool refuse) {
  const Lock lock(mutex_);
  refuses_connections_ = refuse;
}

void FakeHypervisor::hang(bool hang) {
  const Lock lock(mutex_);
  blocks_ = hang;
  changed_.notify_all();
}

void FakeHypervisor::hang_in_statistics(bool hang) {
  const Lock lock(mutex_);
  statistics_block_ = hang;
  changed_.notify_all();
}

void FakeHypervisor::fail(bool fail) {
  const Lock lock(mutex_);
  fails_ = fail;
}

void FakeHypervisor::die() {
  std::shared_ptr<HypervisorEvents> events;
  {
    const Lock lock(mutex_);
    events = std::exchange(events_, nullptr);
  }
  if (events) events->lost("it closed the connection");
}

}  // namespace cleave::monitor
