// A hypervisor under the test's control: loses events, refuses connections, hangs, dies.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "monitor/hypervisor/hypervisor.h"

namespace cleave::monitor {

Uuid uuid_of(unsigned domain);

class FakeHypervisor : public Hypervisor {
 public:
  ~FakeHypervisor() override {
    hang(false);
    hang_in_statistics(false);
  }

  std::unique_ptr<HypervisorConnection> connect(const std::string& uri,
                                                std::shared_ptr<HypervisorEvents> events) override;

  // The domain begins or ceases to run; the watcher gets an event unless it is dropped.
  void run(unsigned domain, bool runs, bool drop_event = false);

  // From now on connecting fails, or no longer.
  void refuse(bool refuse);
  // From now on no call returns, but for those over connections without events, until this is called with false.
  void hang(bool hang);
  // The same of scheduler_times() alone, over all connections.
  void hang_in_statistics(bool hang);
  // Calls fail, but the connection is not reported dead.
  void fail(bool fail);
  // The connection dies, and the watcher is notified.
  void die();

  // From now on the domain has these times, and its hypervisor says so.
  void schedule(unsigned domain, std::chrono::nanoseconds ran, std::chrono::nanoseconds waited);

  std::atomic<unsigned> attempts = 0;       // to connect with events
  std::atomic<unsigned> blocked_calls = 0;  // calls that hang now, without those in the statistics
  std::atomic<unsigned> blocked_statistics = 0;
  std::atomic<unsigned> statistics_calls = 0;  // of scheduler_times()
  std::atomic<unsigned> list_calls = 0;

 private:
  class FakeSession;
  using Lock = std::unique_lock<std::mutex>;

  void pass(Lock& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<unsigned> running_;
  std::map<unsigned, SchedulerTimes> scheduled_;
  std::shared_ptr<HypervisorEvents> events_;
  bool refuses_connections_ = false;
  bool blocks_ = false;
  bool statistics_block_ = false;
  bool fails_ = false;
};

}  // namespace cleave::monitor
