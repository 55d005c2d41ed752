#include "base/text/monitor_line.h"

#include <algorithm>
#include <array>

#include "base/text/number.h"
#include "cleave/monitor.h"

namespace cleave::base {
namespace {

constexpr std::string_view kGreeting = "cleave-monitor";
constexpr std::string_view kHeartbeat = "heartbeat=";
constexpr std::string_view kPressure = "pressure=";
constexpr std::string_view kBusyShare = "busy-share=";
constexpr std::string_view kInterval = "interval=";
constexpr unsigned kMaxMs = 3'600'000;  // of a heartbeat and an interval
constexpr unsigned kMaxBusyShare = 100;

std::string_view take_field(std::string_view& line) {
  const auto space = line.find(' ');
  const std::string_view field = line.substr(0, space);
  line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  return field;
}

template <typename T>
bool take_number(std::string_view& line, std::uint64_t most, T& value) {
  const auto number = parse_unsigned(take_field(line), 0, most);
  if (number) value = static_cast<T>(*number);
  return number.has_value();
}

// The value of a field NAME=NUMBER, which may be out of range or no number; true for a field of another name.
template <typename T>
bool take_named(std::string_view field, std::string_view name, std::uint64_t most, T& value) {
  if (!field.starts_with(name)) return true;
  field.remove_prefix(name.size());
  return take_number(field, most, value);
}

bool parse_greeting(std::string_view rest, MonitorLine& line) {
  if (!take_number(rest, UINT32_MAX, line.version)) return false;
  while (!rest.empty()) {
    const std::string_view field = take_field(rest);
    if (!take_named(field, kHeartbeat, kMaxMs, line.heartbeat_ms) ||
        !take_named(field, kBusyShare, kMaxBusyShare, line.busy_share) ||
        !take_named(field, kInterval, kMaxMs, line.interval_ms)) {
      return false;
    }
  }
  return true;
}

bool parse_count(std::string_view rest, MonitorLine& line) {
  if (!take_number(rest, UINT64_MAX, line.sequence) || !take_number(rest, kMaxMachines, line.running) ||
      !take_number(rest, line.running, line.busy)) {
    return false;
  }
  while (!rest.empty()) {
    const std::string_view field = take_field(rest);
    unsigned pressure = 0;
    if (!take_named(field, kPressure, kMaxPressure, pressure)) return false;
    if (field.starts_with(kPressure)) line.pressure = pressure;
  }
  return true;
}

bool parse_sequence(std::string_view rest, MonitorLine& line) {
  return take_number(rest, UINT64_MAX, line.sequence);
}

bool parse_empty(std::string_view, MonitorLine&) { return true; }

struct LineFormat {
  std::string_view word;
  MonitorLine::Kind kind;
  bool (*read)(std::string_view rest, MonitorLine& line);
};

constexpr std::array kFormats = {
    LineFormat{kGreeting, MonitorLine::Kind::greeting, parse_greeting},
    LineFormat{"count", MonitorLine::Kind::count, parse_count},
    LineFormat{"unknown", MonitorLine::Kind::unknown, parse_sequence},
    LineFormat{"alive", MonitorLine::Kind::alive, parse_sequence},
    LineFormat{"bye", MonitorLine::Kind::bye, parse_empty},
};

bool printable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

std::optional<MonitorLine> parse_monitor_line(std::string_view text) {
  if (text.empty() || text.size() >= CLEAVE_MONITOR_LINE_MAX) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), printable)) return std::nullopt;
  std::string_view rest = text;
  const std::string_view word = take_field(rest);
  MonitorLine line;
  for (const LineFormat& form : kFormats) {
    if (form.word != word) continue;
    line.kind = form.kind;
    if (!form.read(rest, line)) return std::nullopt;
  }
  return line;
}

std::string greeting_line(unsigned heartbeat_ms, unsigned busy_share, unsigned interval_ms) {
  std::string line(kGreeting);
  line.append(" ").append(std::to_string(CLEAVE_MONITOR_PROTOCOL));
  line.append(" ").append(kHeartbeat).append(std::to_string(heartbeat_ms));
  line.append(" ").append(kBusyShare).append(std::to_string(busy_share));
  line.append(" ").append(kInterval).append(std::to_string(interval_ms));
  return line;
}

std::string count_line(std::uint64_t sequence, unsigned running, unsigned busy,
                       std::optional<unsigned> pressure) {
  std::string line =
      "count " + std::to_string(sequence) + ' ' + std::to_string(running) + ' ' + std::to_string(busy);
  if (pressure) line.append(" ").append(kPressure).append(std::to_string(*pressure));
  return line;
}

std::string unknown_line(std::uint64_t sequence) { return "unknown " + std::to_string(sequence); }

std::string alive_line(std::uint64_t sequence) { return "alive " + std::to_string(sequence); }

std::string bye_line(std::string_view reason) { return "bye " + std::string(reason); }

}  // namespace cleave::base
