#include "neighbours/session.h"

#include <algorithm>
#include <utility>

#include "cleave/monitor.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using Kind = base::MonitorLine::Kind;

constexpr base::Nanoseconds kLeastPatience = 5s;
constexpr base::Nanoseconds kMostPatience = 60s;

}  // namespace

void Session::take(std::string_view bytes, base::Nanoseconds now) {
  if (is_flood(bytes.size(), now)) return break_off("sends more than anybody could have to say");
  while (!bytes.empty() && state_ <= State::following) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() >= CLEAVE_MONITOR_LINE_MAX) return break_off("sends lines without end");
    line_.append(part);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    take_line(std::exchange(line_, {}), now);
  }
}

void Session::look_at_the_clock(base::Nanoseconds now) {
  if (state_ <= State::following && now >= deadline()) state_ = State::ended;
}

void Session::take_line(std::string_view text, base::Nanoseconds now) {
  const auto line = base::read_monitor_line(text);
  if (!line || (line->kind == Kind::greeting) != (state_ == State::greeting)) {
    return break_off("does not speak cleave-monitord's protocol");
  }
  last_line_ = now;
  switch (line->kind) {
    case Kind::greeting:
      return greet(*line);
    case Kind::count:
      heard_ = Heard{std::max(line->running, 1U), now};
      confirmable_ = line->sequence;
      return;
    case Kind::unknown:
      return confirmable_.reset();
    case Kind::alive:
      if (heard_ && confirmable_ == line->sequence) heard_->at = now;
      return;
    case Kind::bye:
      state_ = State::ended;
      return;
    case Kind::other:
      return;
  }
}

void Session::greet(const base::MonitorLine& line) {
  if (line.version != CLEAVE_MONITOR_PROTOCOL) {
    return break_off("speaks version " + std::to_string(line.version) + " of the protocol, not " +
                     std::to_string(CLEAVE_MONITOR_PROTOCOL));
  }
  heartbeat_ = std::chrono::milliseconds(line.heartbeat_ms);
  patience_ = std::clamp(3 * heartbeat_, kLeastPatience, kMostPatience);
  state_ = State::following;
}

void Session::break_off(std::string why) {
  if (state_ > State::following) return;
  state_ = State::broken;
  fault_ = std::move(why);
  line_.clear();
}

bool Session::is_flood(std::size_t bytes, base::Nanoseconds now) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_bytes_).count();
  const auto forgiven =
      static_cast<std::size_t>(std::clamp<std::int64_t>(elapsed, 0, 60'000)) * kBytesPerSecond / 1000;
  owed_ = owed_ - std::min(owed_, forgiven) + bytes;
  last_bytes_ = now;
  return owed_ > kMostBytes;
}

}  // namespace cleave::neighbours
