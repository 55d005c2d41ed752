// Parses and formats the lines of the monitor's protocol (docs/monitor-protocol.md), without their newlines.
//
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave::base {

struct MonitorLine {
  enum class Kind : std::uint8_t {
    greeting,  // version and heartbeat_ms are set; busy_share and interval_ms if the daemon sends them
    count,     // sequence, running and busy are set; pressure if the daemon sends it
    unknown,   // the daemon has no count at the moment; sequence is set
    alive,     // nothing has changed; sequence is that of the last count or unknown
    bye,       // the daemon is about to close the connection
    other,     // well-formed, from a later version: to be ignored
  };
  Kind kind = Kind::other;
  unsigned version = 0;
  unsigned heartbeat_ms = 0;   // the longest interval between two lines of the daemon
  unsigned busy_share = 0;     // per cent of one processor from which a machine counts as busy, at most 100
  unsigned interval_ms = 0;    // between two samples of the processor times from which that follows
  std::uint64_t sequence = 0;  // incremented with every count or unknown
  unsigned running = 0;        // running virtual machines, at most kMaxMachines
  unsigned busy = 0;           // of these, those that use their processors
  std::optional<unsigned> pressure;  // how much they lack the processor, in thousandths: at most kMaxPressure
};

constexpr unsigned kMaxMachines = 100'000;
constexpr unsigned kMaxPressure = 1000;

// Empty if the line violates the protocol: it is too long, not printable ASCII, lacks a number or has one out of
// range. Extra fields after the known ones are ignored.
std::optional<MonitorLine> parse_monitor_line(std::string_view line);

std::string greeting_line(unsigned heartbeat_ms, unsigned busy_share, unsigned interval_ms);
std::string count_line(std::uint64_t sequence, unsigned running, unsigned busy,
                       std::optional<unsigned> pressure = std::nullopt);
std::string unknown_line(std::uint64_t sequence);
std::string alive_line(std::uint64_t sequence);
std::string bye_line(std::string_view reason);

}  // namespace cleave::base
