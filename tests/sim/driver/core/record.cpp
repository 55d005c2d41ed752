#include "tests/sim/driver/core/record.h"

namespace cleave::sim {

std::shared_ptr<Call> Record::enter(Function function, Nanoseconds at) {
  auto call = std::make_shared<Call>();
  call->function = name_of(function);
  call->thread = std::this_thread::get_id();
  call->at = at;
  if (keep_) calls_.push_back(call);
  return call;
}

void Record::leave(const Call& call) const {
  if (observer) observer(call);
}

void Record::launched(const std::shared_ptr<Launch>& launch) {
  if (keep_) launches_.push_back(launch);
}

void Record::starts(const std::shared_ptr<Launch>& launch) {
  if (keep_) executions_.push_back(launch);
}

std::vector<Call> Record::log() const {
  std::vector<Call> copies;
  copies.reserve(calls_.size());
  for (const auto& call : calls_) copies.push_back(*call);
  return copies;
}

std::vector<Launch> Record::copy(const Launches& launches) {
  std::vector<Launch> copies;
  copies.reserve(launches.size());
  for (const auto& launch : launches) copies.push_back(*launch);
  return copies;
}

void Record::forget() {
  counts_.fill(0);
  calls_.clear();
  launches_.clear();
  executions_.clear();
}

}  // namespace cleave::sim
