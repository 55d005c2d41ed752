#include "neighbours/monitor_source.h"

#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "cleave/monitor.h"
#include "neighbours/monitor_trust.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

constexpr base::Nanoseconds kConnectTimeout = 5s;
// A connection that lasted this long was stable: reconnect without a long delay.
constexpr base::Nanoseconds kStableConnection = 10s;
// Bytes read in one step: a server that never stops sending must not block the thread.
constexpr std::size_t kMaxReadSize = 1024;

}  // namespace

std::vector<base::Address> default_addresses() {
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
                             base::Nanoseconds max_age, base::MonitorTrust trust, base::CountBy count_by)
    : addresses_((assert(!addresses.empty()), std::move(addresses))),
      named_(named),
      remote_(addresses_[0].kind == base::Address::Kind::tcp),
      max_age_(max_age),
      trust_(trust),
      count_by_(count_by),
      backoff_(seed) {}

std::string MonitorSource::endpoint() const {
  if (round_index_ < round_.size()) return as_text(addresses_[round_[round_index_].address]);
  return named_ ? as_text(addresses_[0]) : std::string();
}

std::string MonitorSource::state() const {
  if (connection_.state() == NonblockingConnection::State::closed)
    return first_answer_known_ ? "unreachable" : "connecting";
  if (!protocol_ || protocol_->state() != MonitorProtocol::State::following) return "connecting";
  return protocol_->last_count() ? "connected" : "connected, no count yet";
}

Source::WakeCondition MonitorSource::wake_condition() const {
  switch (connection_.state()) {
    case NonblockingConnection::State::closed:
      return {-1, 0, next_round_};
    case NonblockingConnection::State::opening:
      return {connection_.fd(), POLLOUT, started_at_ + kConnectTimeout};
    case NonblockingConnection::State::open:
      break;
  }
  base::Nanoseconds until = protocol_ ? protocol_->deadline() : next_round_;
  if (own_use_) until = std::min(until, own_use_->next_sample());
  return {connection_.fd(), POLLIN, until};
}

void MonitorSource::step(base::Nanoseconds now) {
  switch (connection_.state()) {
    case NonblockingConnection::State::closed:
      if (now >= next_round_) start_round(now);
      return;
    case NonblockingConnection::State::opening:
      return check_connecting(now);
    case NonblockingConnection::State::open:
      return receive(now);
  }
}

void MonitorSource::start_round(base::Nanoseconds now) {
  round_.clear();
  round_index_ = 0;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    for (const base::SocketAddress& destination : destinations_of(addresses_[i]))
      round_.push_back({i, destination});
  }
  if (round_.empty() && named_) warn(endpoint() + " has an unknown host: name another");
  connect_next(now);
}

// Starts to connect to the current destination, or to the next one that does not fail at once.
void MonitorSource::connect_next(base::Nanoseconds now) {
  for (; round_index_ < round_.size(); ++round_index_) {
    started_at_ = now;
    connection_.open(round_[round_index_].destination);
    if (connection_.state() != NonblockingConnection::State::closed) return check_connecting(now);
    if (named_) warn_unreachable();
  }
  back_off(now);
}

void MonitorSource::check_connecting(base::Nanoseconds now) {
  connection_.poll_connect();
  if (connection_.state() == NonblockingConnection::State::opening) {
    if (now - started_at_ < kConnectTimeout) return;
    connection_.drop(ETIMEDOUT);
  }
  if (connection_.state() == NonblockingConnection::State::open && !is_trusted()) {
    connection_.drop(0);
    ++round_index_;
    return connect_next(now);
  }
  if (connection_.state() == NonblockingConnection::State::open) {
    started_at_ = now;
    protocol_.emplace(now);
    return receive(now);
  }
  if (named_) warn_unreachable();
  ++round_index_;
  connect_next(now);
}

bool MonitorSource::is_trusted() {
  const base::Address& address = addresses_[round_[round_index_].address];
  const std::string why = reason_for_distrust(connection_.fd(), address, trust_);
  if (why.empty()) return true;
  // Reported for a default address, too: something has been put there.
  warn(endpoint() + " " + why + " and is not believed: name another, or add trust:any to CLEAVE_NEIGHBOURS");
  return false;
}

void MonitorSource::receive(base::Nanoseconds now) {
  std::array<char, kMaxReadSize> buffer;
  const long size = connection_.read(buffer.data(), buffer.size());
  if (size > 0) protocol_->receive({buffer.data(), static_cast<std::size_t>(size)}, now);
  protocol_->check_timeout(now);
  sample_own_use(now);
  if (protocol_->last_count()) {
    if (!last_count_) check_heartbeat();
    update_count();
    first_answer_known_ = true;
  }
  if (size < 0 || protocol_->state() > MonitorProtocol::State::following) disconnect(now);
}

void MonitorSource::update_count() {
  last_count_ = protocol_->last_count();
  last_pressure_ = protocol_->last_pressure();
  if (count_by_ == base::CountBy::running) return;
  last_count_->vms = count_of_busy(last_count_->vms, protocol_->busy(), own_use_ && own_use_->surely_busy());
}

void MonitorSource::sample_own_use(base::Nanoseconds now) {
  const auto& rule = protocol_->busy_rule();
  if (count_by_ == base::CountBy::running || !rule) return;
  // A monitor on this machine counts machines within this one.
  if (!own_use_ && !is_loopback(round_[round_index_].destination))
    own_use_.emplace(rule->share, rule->interval);
  if (!own_use_ || now < own_use_->next_sample()) return;
  if (const auto used = machine_processor_time()) return own_use_->sample(*used, now);
  own_use_.reset();  // sampled again at the next line
}

void MonitorSource::check_heartbeat() {
  if (protocol_->heartbeat() < max_age_) return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(protocol_->heartbeat()).count() + 1;
  warning_ = "neighbours.source: " + endpoint() + " sends every " + std::to_string(seconds - 1) +
             " s only, and a count is stale before that: have cleave-monitord send more often (--heartbeat)";
}

void MonitorSource::disconnect(base::Nanoseconds now) {
  if (protocol_->state() == MonitorProtocol::State::broken) {
    warn(endpoint() + " " + protocol_->error_text() + ": name one where cleave-monitord listens");
  }
  const bool spoke = protocol_->last_count().has_value();
  if (spoke && now - started_at_ >= kStableConnection) backoff_.reset();
  protocol_.reset();
  own_use_.reset();
  connection_.drop(0);
  if (spoke) return back_off(now);
  // A server that never sent a count counts as unreachable.
  ++round_index_;
  connect_next(now);
}

void MonitorSource::back_off(base::Nanoseconds now) {
  first_answer_known_ = true;
  next_round_ = now + backoff_.next();
}

void MonitorSource::warn_unreachable() {
  warn(endpoint() + " does not answer (" + std::strerror(connection_.error()) +
       "): start cleave-monitord there or name another");
}

void MonitorSource::warn(const std::string& what) {
  if (warning_.empty()) warning_ = "neighbours.source: " + what;
}

std::string MonitorSource::take_warning() { return std::exchange(warning_, {}); }

}  // namespace cleave::neighbours
