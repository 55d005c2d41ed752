#include "interpose/broker/participation.h"

#include <algorithm>
#include <cstdint>

#include "interpose/broker/brokered_turns.h"

namespace cleave::interpose {
namespace {

BrokerClient* the_broker = nullptr;

// Nothing is booked that the broker has not booked.
class BrokeredLedger final : public limits::MemoryLedger {
 public:
  BrokeredLedger(BrokerClient& client, std::uint8_t device) : client_(client), device_(device) {}
  ~BrokeredLedger() override { tell(BrokerOp::release, booked_); }

  Answer book(std::uint64_t bytes, std::uint64_t /*limit*/) noexcept override {
    BrokerRequest request;
    request.op = BrokerOp::book;
    request.device = device_;
    request.bytes = bytes;
    const auto answer = client_.call(request);
    excess_ = answer ? answer->excess : bytes;
    if (!answer || answer->result == 0) return Answer::beyond;
    booked_ += bytes;
    return Answer::booked;
  }
  void release(std::uint64_t bytes) noexcept override {
    booked_ -= std::min(booked_, bytes);
    tell(BrokerOp::release, bytes);
  }
  void forget() noexcept override { booked_ = 0; }

 private:
  void tell(BrokerOp op, std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    BrokerRequest request;
    request.op = op;
    request.device = device_;
    request.bytes = bytes;
    client_.tell(request);
  }

  BrokerClient& client_;
  const std::uint8_t device_;
  std::uint64_t booked_ = 0;
};

}  // namespace

void set_broker(BrokerClient* client) noexcept { the_broker = client; }
BrokerClient* broker() noexcept { return the_broker; }

std::unique_ptr<turns::Turns> make_turns(base::ForkLocks& forks, const turns::Options& options) {
  if (the_broker == nullptr) return std::make_unique<turns::Turns>(forks, options);
  return std::make_unique<BrokeredTurns>(*the_broker, forks, options);
}

std::unique_ptr<limits::MemoryLedger> open_ledger(const std::string& folder, const std::string& identity,
                                                  std::string_view tenant, std::string& problem,
                                                  std::string_view device) {
  if (the_broker == nullptr && folder.empty()) return nullptr;
  if (the_broker == nullptr) return limits::MemoryLedger::open(folder, identity, tenant, problem, device);
  const auto number = the_broker->number_of(identity);
  if (!number) return problem = "it is not one of the server's devices", nullptr;
  return std::make_unique<BrokeredLedger>(*the_broker, *number);
}

}  // namespace cleave::interpose
