#include "neighbours/monitor_source.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "cleave/monitor.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

constexpr base::Nanoseconds kConnectPatience = 5s;
// A conversation that lasted that long was a good one: the next is tried soon after it.
constexpr base::Nanoseconds kGoodConversation = 10s;
// Read in one step, so that a server that never stops does not keep us here.
constexpr std::size_t kMostAtOnce = 4096;

}  // namespace

std::vector<base::Address> usual_addresses() {
  std::vector<base::Address> addresses(1);
  addresses[0].path = CLEAVE_MONITOR_SOCKET;
  if (access("/dev/vsock", F_OK) == 0) {
    base::Address host;
    host.kind = base::Address::Kind::vsock;
    host.cid = base::Address::kHostCid;
    host.port = CLEAVE_MONITOR_PORT;
    addresses.push_back(std::move(host));
  }
  return addresses;
}

MonitorSource::MonitorSource(std::vector<base::Address> addresses, bool named, std::uint64_t seed,
                             base::Nanoseconds max_age)
    : addresses_(std::move(addresses)),
      named_(named),
      remote_(addresses_[0].kind == base::Address::Kind::tcp),
      max_age_(max_age),
      backoff_(seed) {}

std::string MonitorSource::place() const {
  if (at_ < round_.size()) return as_text(addresses_[round_[at_].address]);
  return named_ ? as_text(addresses_[0]) : std::string();
}

std::string MonitorSource::state() const {
  if (connection_.state() == Connection::State::closed) return settled_ ? "unreachable" : "connecting";
  if (!session_ || session_->state() != Session::State::following) return "connecting";
  return session_->heard() ? "connected" : "connected, no count yet";
}

Source::Wish MonitorSource::wish() const {
  switch (connection_.state()) {
    case Connection::State::closed:
      return {-1, 0, next_};
    case Connection::State::opening:
      return {connection_.fd(), POLLOUT, began_ + kConnectPatience};
    case Connection::State::open:
      break;
  }
  return {connection_.fd(), POLLIN, session_ ? session_->deadline() : next_};
}

void MonitorSource::step(base::Nanoseconds now) {
  switch (connection_.state()) {
    case Connection::State::closed:
      if (now >= next_) begin_round(now);
      return;
    case Connection::State::opening:
      return see_whether_open(now);
    case Connection::State::open:
      return listen(now);
  }
}

void MonitorSource::begin_round(base::Nanoseconds now) {
  round_.clear();
  at_ = 0;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    for (const Destination& destination : destinations_of(addresses_[i])) round_.push_back({i, destination});
  }
  if (round_.empty() && named_) complain(place() + " has a host that is not known: name another");
  try_next(now);
}

// Begins with the destination at_, or with one after it where that fails at once.
void MonitorSource::try_next(base::Nanoseconds now) {
  for (; at_ < round_.size(); ++at_) {
    began_ = now;
    connection_.open(round_[at_].destination);
    if (connection_.state() != Connection::State::closed) return see_whether_open(now);
    if (named_) complain_of_silence();
  }
  pause(now);
}

void MonitorSource::see_whether_open(base::Nanoseconds now) {
  connection_.look();
  if (connection_.state() == Connection::State::opening) {
    if (now - began_ < kConnectPatience) return;
    connection_.drop(ETIMEDOUT);
  }
  if (connection_.state() == Connection::State::open) {
    began_ = now;
    session_.emplace(now);
    return listen(now);
  }
  if (named_) complain_of_silence();
  ++at_;
  try_next(now);
}

void MonitorSource::listen(base::Nanoseconds now) {
  std::array<char, kMostAtOnce> buffer;
  const long size = connection_.read(buffer.data(), buffer.size());
  if (size > 0) session_->take({buffer.data(), static_cast<std::size_t>(size)}, now);
  session_->look_at_the_clock(now);
  if (session_->heard()) {
    if (!heard_) compare_with_heartbeat();
    heard_ = session_->heard();
    settled_ = true;
  }
  if (size < 0 || session_->state() > Session::State::following) hang_up(now);
}

void MonitorSource::compare_with_heartbeat() {
  if (session_->heartbeat() < max_age_) return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(session_->heartbeat()).count() + 1;
  complaint_ = "neighbours.max_age: " + place() + " speaks up every " + std::to_string(seconds - 1) +
               " s or less, and a count is stale before that: set " + std::to_string(seconds) + " or more";
}

void MonitorSource::hang_up(base::Nanoseconds now) {
  if (session_->state() == Session::State::broken) {
    complain(place() + " " + session_->fault() + ": name one where cleave-monitord listens");
  }
  const bool spoke = session_->heard().has_value();
  if (spoke && now - began_ >= kGoodConversation) backoff_.reset();
  session_.reset();
  connection_.drop(0);
  if (spoke) return pause(now);
  // Somebody who never said a number is as good as nobody.
  ++at_;
  try_next(now);
}

void MonitorSource::pause(base::Nanoseconds now) {
  settled_ = true;
  next_ = now + backoff_.next();
}

void MonitorSource::complain_of_silence() {
  complain(place() + " does not answer (" + std::strerror(connection_.error()) +
           "): start cleave-monitord there or name another");
}

void MonitorSource::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = "neighbours.monitor: " + what;
}

std::string MonitorSource::take_complaint() { return std::exchange(complaint_, {}); }

}  // namespace cleave::neighbours
