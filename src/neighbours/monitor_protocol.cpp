#include "neighbours/monitor_protocol.h"

#include <algorithm>
#include <utility>

#include "cleave/monitor.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using Kind = base::MonitorLine::Kind;

constexpr base::Nanoseconds kMinTimeout = 5s;
constexpr base::Nanoseconds kMaxTimeout = 60s;

}  // namespace

void MonitorProtocol::receive(std::string_view bytes, base::Nanoseconds now) {
  if (exceeds_rate(bytes.size(), now)) return fail("sends too much");
  while (!bytes.empty() && state_ <= State::following) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() >= CLEAVE_MONITOR_LINE_MAX) return fail("sends lines that are too long");
    line_.append(part);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    handle_line(std::exchange(line_, {}), now);
  }
}

void MonitorProtocol::check_timeout(base::Nanoseconds now) {
  if (state_ <= State::following && now >= deadline()) state_ = State::ended;
}

void MonitorProtocol::handle_line(std::string_view text, base::Nanoseconds now) {
  const auto line = base::parse_monitor_line(text);
  if (!line || (line->kind == Kind::greeting) != (state_ == State::greeting)) {
    return fail("does not speak cleave-monitord's protocol");
  }
  last_line_ = now;
  switch (line->kind) {
    case Kind::greeting:
      return handle_greeting(*line);
    case Kind::count:
      last_count_ = TimedCount{std::max(line->running, 1U), now};
      busy_ = line->busy;
      pressure_ = line->pressure;
      confirmed_sequence_ = line->sequence;
      return;
    case Kind::unknown:
      return confirmed_sequence_.reset();
    case Kind::alive:
      if (last_count_ && confirmed_sequence_ == line->sequence) last_count_->at = now;
      return;
    case Kind::bye:
      state_ = State::ended;
      return;
    case Kind::other:
      return;
  }
}

void MonitorProtocol::handle_greeting(const base::MonitorLine& line) {
  if (line.version != CLEAVE_MONITOR_PROTOCOL) {
    return fail("speaks version " + std::to_string(line.version) + " of the protocol, not " +
                std::to_string(CLEAVE_MONITOR_PROTOCOL));
  }
  heartbeat_ = std::chrono::milliseconds(line.heartbeat_ms);
  if (line.interval_ms != 0)
    busy_rule_ = BusyRule{line.busy_share / 100.0, std::chrono::milliseconds(line.interval_ms)};
  timeout_ = std::clamp(3 * heartbeat_, kMinTimeout, kMaxTimeout);
  state_ = State::following;
}

void MonitorProtocol::fail(std::string why) {
  if (state_ > State::following) return;
  state_ = State::broken;
  error_text_ = std::move(why);
  line_.clear();
}

bool MonitorProtocol::exceeds_rate(std::size_t bytes, base::Nanoseconds now) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_bytes_).count();
  const auto drained =
      static_cast<std::size_t>(std::clamp<std::int64_t>(elapsed, 0, 60'000)) * kBytesPerSecond / 1000;
  burst_ = burst_ - std::min(burst_, drained) + bytes;
  last_bytes_ = now;
  return burst_ > kMaxBurst;
}

}  // namespace cleave::neighbours
