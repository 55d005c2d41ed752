#include "fake_hypervisor.h"

#include <utility>

namespace cleave::monitor {

Uuid uuid_of(unsigned domain) {
  Uuid uuid{};
  uuid[0] = static_cast<unsigned char>(domain);
  uuid[1] = static_cast<unsigned char>(domain >> 8);
  return uuid;
}

class FakeHypervisor::FakeSession : public Session {
 public:
  explicit FakeSession(FakeHypervisor& owner) : owner_(owner) {}

  std::vector<Uuid> running() override {
    Lock lock(owner_.mutex_);
    owner_.pass(lock);
    ++owner_.listings_;
    std::vector<Uuid> uuids;
    for (const unsigned domain : owner_.running_) uuids.push_back(uuid_of(domain));
    return uuids;
  }

  std::vector<CpuTime> cpu_times() override {
    Lock lock(owner_.mutex_);
    owner_.pass(lock);
    // Nobody uses any time, so after two samples nobody is busy.
    std::vector<CpuTime> times;
    for (const unsigned domain : owner_.running_)
      times.push_back({uuid_of(domain), std::chrono::nanoseconds(1)});
    return times;
  }

 private:
  FakeHypervisor& owner_;
};

void FakeHypervisor::pass(Lock& lock) {
  ++stuck_;
  changed_.wait(lock, [&] { return !hangs_; });
  --stuck_;
  if (fails_) throw HypervisorError("the call failed");
}

std::unique_ptr<Session> FakeHypervisor::connect(const std::string& /*uri*/,
                                                 std::shared_ptr<SessionEvents> events) {
  Lock lock(mutex_);
  ++attempts_;
  pass(lock);
  if (refuses_) throw HypervisorError("refused");
  events_ = std::move(events);
  return std::make_unique<FakeSession>(*this);
}

void FakeHypervisor::run(unsigned domain, bool runs, bool event_is_lost) {
  std::shared_ptr<SessionEvents> events;
  {
    const Lock lock(mutex_);
    if (runs) {
      running_.insert(domain);
    } else {
      running_.erase(domain);
    }
    if (!event_is_lost) events = events_;
  }
  if (events) events->changed(uuid_of(domain), runs);
}

void FakeHypervisor::refuse(bool refuse) {
  const Lock lock(mutex_);
  refuses_ = refuse;
}

void FakeHypervisor::hang(bool hang) {
  const Lock lock(mutex_);
  hangs_ = hang;
  changed_.notify_all();
}

void FakeHypervisor::fail(bool fail) {
  const Lock lock(mutex_);
  fails_ = fail;
}

void FakeHypervisor::die() {
  std::shared_ptr<SessionEvents> events;
  {
    const Lock lock(mutex_);
    events = std::exchange(events_, nullptr);
  }
  if (events) events->lost("it closed the connection");
}

unsigned FakeHypervisor::attempts() {
  const Lock lock(mutex_);
  return attempts_;
}

unsigned FakeHypervisor::stuck() {
  const Lock lock(mutex_);
  return stuck_;
}

unsigned FakeHypervisor::listings() {
  const Lock lock(mutex_);
  return listings_;
}

}  // namespace cleave::monitor
