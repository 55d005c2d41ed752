// The turns on one device that a broker takes for this process.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "interpose/broker/broker_client.h"
#include "turns/turns.h"

namespace cleave::interpose {

class BrokeredTurns final : public turns::Turns {
 public:
  BrokeredTurns(BrokerClient& client, base::ForkLocks& forks, const turns::Options& options);
  BrokeredTurns(const BrokeredTurns&) = delete;
  BrokeredTurns& operator=(const BrokeredTurns&) = delete;
  ~BrokeredTurns() override;

  bool enter(std::string& problem) override;
  void leave() noexcept override;
  void leave_at_exit() noexcept override { leave(); }
  [[nodiscard]] bool has_joined() noexcept override { return joined_; }
  // The weight itself is the broker's business, and so is the cap.
  void set_weight(std::uint32_t weight, std::uint32_t divisor) noexcept override;
  void set_cap(std::uint16_t /*cap*/, bool /*borrows*/) noexcept override {}
  [[nodiscard]] bool begin() noexcept override;
  [[nodiscard]] turns::Ns grant_delay() const noexcept override { return grant_delay_; }
  void credit(turns::Ns idle) noexcept override { tell(BrokerOp::credit, idle); }
  [[nodiscard]] bool should_yield() noexcept override;
  [[nodiscard]] bool yield(const std::atomic<int>* interrupt) noexcept override;
  void end(turns::Ns grace) noexcept override { tell(BrokerOp::end, grace); }
  // Only the broker knows.
  [[nodiscard]] turns::WaitCauses wait_causes() override { return {}; }
  [[nodiscard]] std::string problem() noexcept override;

 private:
  void tell(BrokerOp op, turns::Ns duration = 0, std::uint32_t divisor = 1) noexcept;
  [[nodiscard]] std::optional<BrokerAnswer> call(BrokerOp op,
                                                 const std::atomic<int>* interrupt = nullptr) noexcept;
  bool get_device(BrokerOp op, const std::atomic<int>* interrupt) noexcept;
  void follow(const BrokerAnswer& answer) noexcept;
  void lose() noexcept;
  [[nodiscard]] std::string problem_of_broker() const;

  BrokerClient& client_;
  const std::optional<std::uint8_t> device_;
  std::atomic<bool> joined_{false};
  std::atomic<std::uint32_t> divisor_{1};
  std::atomic<turns::Ns> grant_delay_{0};
  base::Mutex mutex_;
  std::string problem_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::interpose
