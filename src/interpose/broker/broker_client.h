// The connection of a process that may not write to the registry to its broker (broker.h).
//
// Once the broker has ended, launches go on without turns, and nothing more can be booked. A process with a cap is then
// ended by the supervisor, which has started both.
//
// During waits, the broker is asked for a heartbeat, in case it is stopped or hangs. One that sends none for a second
// counts as ended; a process with a cap keeps waiting until the supervisor has ended the broker.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/broker/messages.h"
#include "neighbours/registry_entry.h"

namespace cleave::interpose {

class BrokerClient {
 public:
  struct Device {
    std::uint64_t identity = 0;
    std::string name;
  };

  // `channel` leads to the broker, and is closed never: the object lives as long as the process.
  explicit BrokerClient(int channel) : channel_(channel) {}
  BrokerClient(const BrokerClient&) = delete;
  BrokerClient& operator=(const BrokerClient&) = delete;

  // Where this process counts for its entry in the registry; null before declare(), and if there is none.
  [[nodiscard]] neighbours::RegistryEntry::Page* figures() const { return figures_; }

  // Once, and before anything of a client's is read: what is not declared the broker refuses for good.
  void declare(std::vector<Device> devices);

  // Its number; empty if it was not declared.
  [[nodiscard]] std::optional<std::uint8_t> number_of(const std::string& identity) const;

  // The process may not go on without its broker, as one with a cap.
  void wait_for_its_end() noexcept { waits_for_end_ = true; }

  // Empty: the broker does not answer. While it waits, `look` is called every 20 ms; may be null.
  std::optional<BrokerAnswer> call(BrokerRequest request,
                                   const std::function<void()>& look = nullptr) noexcept;
  void tell(const BrokerRequest& request) noexcept;
  // Why it does not answer any more.
  [[nodiscard]] const char* problem() const noexcept { return problem_; }

  // `follow` is called with every answer about the device's turns, and with news of them; null: with none any more.
  using Follow = std::function<void(const BrokerAnswer&)>;
  void set_follower(std::uint8_t device, Follow follow);

 private:
  struct Call {
    std::optional<BrokerAnswer> answer;
    base::CondVar answered;
  };
  // Of the broker, in looks at it, so that time in which this process had no processor, as the broker perhaps, does not count.
  struct Silence {
    std::uint64_t heard = 0;
    unsigned looks = 0;
  };
  void receive() noexcept;
  void note_look(Silence& silence) noexcept;
  void lose(const char* why) noexcept;

  const int channel_;
  std::vector<Device> devices_;
  neighbours::RegistryEntry::Page* figures_ = nullptr;
  std::atomic<const char*> problem_{""};
  std::atomic<bool> lost_{false};
  std::atomic<bool> waits_for_end_{false};
  std::atomic<std::uint64_t> heard_{0};  // messages
  base::Mutex mutex_;
  std::uint32_t latest_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::map<std::uint32_t, Call*> calls_ CLEAVE_GUARDED_BY(mutex_);
  base::Mutex following_;  // held while a follower is called
  std::array<Follow, kMostBrokeredDevices> followers_ CLEAVE_GUARDED_BY(following_);
};

}  // namespace cleave::interpose
