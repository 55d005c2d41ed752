#include "interpose/broker/brokered_turns.h"

#include <algorithm>
#include <utility>

namespace cleave::interpose {
namespace {

BrokerRequest request_of(BrokerOp op, std::uint8_t device) {
  BrokerRequest request;
  request.op = op;
  request.device = device;
  request.sent_at = turns::monotonic_now();
  return request;
}

}  // namespace

BrokeredTurns::BrokeredTurns(BrokerClient& client, base::ForkLocks& forks, const turns::Options& options)
    : Turns(forks, options), client_(client), device_(client.number_of(options.identity)) {
  if (device_) client_.set_follower(*device_, [this](const BrokerAnswer& answer) { follow(answer); });
  if (is_capped_) client_.wait_for_its_end();
}

BrokeredTurns::~BrokeredTurns() {
  leave();
  if (device_) client_.set_follower(*device_, nullptr);
}

void BrokeredTurns::follow(const BrokerAnswer& answer) noexcept {
  joined_ = answer.has_joined != 0;
  company_->follow(joined_ && answer.takes_turns != 0);
  haste_ = static_cast<turns::Haste>(std::min<std::uint8_t>(answer.haste, 2));
  pauses_ = answer.pauses != 0;
  waits_ = answer.waits;
  if (joined_ || answer.problem[0] == '\0') return;
  const base::MutexLock lock(mutex_);
  problem_ = text_in(answer.problem);
}

std::string BrokeredTurns::problem_of_broker() const {
  return std::string("the broker: ") + client_.problem();
}

void BrokeredTurns::lose() noexcept {
  joined_ = false;
  is_capped_ = false;
  company_->follow(false);
  const base::MutexLock lock(mutex_);
  if (problem_.empty()) problem_ = problem_of_broker();
}

void BrokeredTurns::tell(BrokerOp op, turns::Ns duration, std::uint32_t divisor) noexcept {
  if (!device_ || !joined_) return;
  BrokerRequest request = request_of(op, *device_);
  request.duration = duration;
  request.divisor = divisor;
  client_.tell(request);
}

std::optional<BrokerAnswer> BrokeredTurns::call(BrokerOp op, const std::atomic<int>* interrupt) noexcept {
  if (!device_ || !joined_) return std::nullopt;
  bool interrupted = false;
  const auto look = [&] {
    if (interrupt == nullptr || interrupt->load() == 0 || std::exchange(interrupted, true)) return;
    tell(BrokerOp::interrupt);
  };
  auto answer = client_.call(request_of(op, *device_), interrupt != nullptr ? look : std::function<void()>());
  if (!answer) lose();
  return answer;
}

bool BrokeredTurns::enter(std::string& problem) {
  if (joined_) return true;
  if (!device_) return problem = "it is not one of the server's devices", false;
  BrokerRequest request = request_of(BrokerOp::join, *device_);
  request.declared = options_.declared ? 1 : 0;
  const auto answer = client_.call(request);
  if (answer && answer->result != 0) return true;
  problem = answer ? text_in(answer->problem) : problem_of_broker();
  if (!answer) lose();
  return false;
}

void BrokeredTurns::leave() noexcept {
  tell(BrokerOp::leave);
  joined_ = false;
  company_->follow(false);
}

void BrokeredTurns::set_weight(std::uint32_t /*weight*/, std::uint32_t divisor) noexcept {
  if (divisor_.exchange(divisor) != divisor) tell(BrokerOp::weigh, 0, divisor);
}

bool BrokeredTurns::begin() noexcept { return get_device(BrokerOp::begin, nullptr); }

bool BrokeredTurns::should_yield() noexcept {
  const auto answer = call(BrokerOp::should_yield);
  return answer && answer->result != 0;
}

bool BrokeredTurns::yield(const std::atomic<int>* interrupt) noexcept {
  return get_device(BrokerOp::yield, interrupt);
}

bool BrokeredTurns::get_device(BrokerOp op, const std::atomic<int>* interrupt) noexcept {
  const turns::Ns asked = turns::monotonic_now();
  const auto answer = call(op, interrupt);
  if (!answer || answer->result == 0) return false;
  grant_delay_ = turns::monotonic_now() - std::max(asked, answer->turn_began);
  return true;
}

std::string BrokeredTurns::problem() noexcept try {
  const base::MutexLock lock(mutex_);
  return problem_;
} catch (...) {
  return {};
}

}  // namespace cleave::interpose
