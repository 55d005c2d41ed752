// The lines of the monitor's protocol (docs/monitor-protocol.md), read and written. Lines come and go without
// their newline here.
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave::base {

struct MonitorLine {
  enum class Kind : std::uint8_t {
    greeting,  // version and heartbeat_ms are set
    count,     // sequence, running and busy are set
    unknown,   // the daemon does not know at the moment; sequence is set
    alive,     // nothing has changed; sequence is that of the last count or unknown
    bye,       // the daemon is about to hang up
    other,     // well-formed, from a later version: to be passed over
  };
  Kind kind = Kind::other;
  unsigned version = 0;
  unsigned heartbeat_ms = 0;   // how often at least the daemon will say something
  std::uint64_t sequence = 0;  // one more with every count or unknown
  unsigned running = 0;        // virtual machines that run, at most kMaxMachines
  unsigned busy = 0;           // those of them that use their processors
};

constexpr unsigned kMaxMachines = 100'000;

// Empty where the line breaks the protocol: too long, bytes that are no printable ASCII, a known first word
// without its numbers, or numbers out of range. Further fields after the known ones are passed over.
std::optional<MonitorLine> parse_monitor_line(std::string_view line);

std::string greeting_line(unsigned heartbeat_ms);
std::string count_line(std::uint64_t sequence, unsigned running, unsigned busy);
std::string unknown_line(std::uint64_t sequence);
std::string alive_line(std::uint64_t sequence);
std::string bye_line(std::string_view reason);

}  // namespace cleave::base
