// How a client of version 0.1 reads the daemon's lines: its code as it was when the protocol was made, kept so that tests can
// show that it understands today's daemon. Not to be changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/number.h"
#include "cleave/monitor.h"

namespace cleave::client_0_1 {

struct MonitorLine {
  enum class Kind : std::uint8_t { greeting, count, unknown, alive, bye, other };
  Kind kind = Kind::other;
  unsigned version = 0;
  unsigned heartbeat_ms = 0;
  std::uint64_t sequence = 0;
  unsigned running = 0;
  unsigned busy = 0;
};

constexpr unsigned kMostMachines = 100'000;
constexpr std::string_view kHeartbeat = "heartbeat=";
constexpr unsigned kLongestHeartbeatMs = 3'600'000;

inline std::string_view take_field(std::string_view& line) {
  const auto space = line.find(' ');
  const std::string_view field = line.substr(0, space);
  line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  return field;
}

template <typename T>
bool take_number(std::string_view& line, std::uint64_t most, T& value) {
  const auto number = base::parse_unsigned(take_field(line), 0, most);
  if (number) value = static_cast<T>(*number);
  return number.has_value();
}

inline bool read_greeting(std::string_view rest, MonitorLine& line) {
  if (!take_number(rest, UINT32_MAX, line.version)) return false;
  while (!rest.empty()) {
    std::string_view field = take_field(rest);
    if (!field.starts_with(kHeartbeat)) continue;
    field.remove_prefix(kHeartbeat.size());
    if (!take_number(field, kLongestHeartbeatMs, line.heartbeat_ms)) return false;
  }
  return true;
}

inline bool read_count(std::string_view rest, MonitorLine& line) {
  return take_number(rest, UINT64_MAX, line.sequence) && take_number(rest, kMostMachines, line.running) &&
         take_number(rest, line.running, line.busy);
}

inline bool read_sequence(std::string_view rest, MonitorLine& line) {
  return take_number(rest, UINT64_MAX, line.sequence);
}

inline bool read_nothing(std::string_view, MonitorLine&) { return true; }

struct Form {
  std::string_view word;
  MonitorLine::Kind kind;
  bool (*read)(std::string_view rest, MonitorLine& line);
};

inline constexpr Form kForms[] = {
    {"cleave-monitor", MonitorLine::Kind::greeting, read_greeting},
    {"count", MonitorLine::Kind::count, read_count},
    {"unknown", MonitorLine::Kind::unknown, read_sequence},
    {"alive", MonitorLine::Kind::alive, read_sequence},
    {"bye", MonitorLine::Kind::bye, read_nothing},
};

// Empty: the client ends the connection.
inline std::optional<MonitorLine> read_monitor_line(std::string_view text) {
  if (text.empty() || text.size() >= CLEAVE_MONITOR_LINE_MAX) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return std::nullopt;
  std::string_view rest = text;
  const std::string_view word = take_field(rest);
  MonitorLine line;
  for (const Form& form : kForms) {
    if (form.word != word) continue;
    line.kind = form.kind;
    if (!form.read(rest, line)) return std::nullopt;
  }
  return line;
}

}  // namespace cleave::client_0_1
