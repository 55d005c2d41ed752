// What a reader sees of the turns on the devices of this machine, for reports: it only reads the files, takes no part and changes
// nothing. Nothing in them is trusted: whatever a file holds, the numbers are limited (state.h) and the text is printable.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "turns/state.h"

namespace cleave::turns {

// A participant as others see it.
struct ParticipantReport {
  std::uint64_t id = 0;   // of its entry: it has another one when it joins again
  std::uint32_t pid = 0;  // in its own container's numbers
  std::uint32_t weight = 0;
  std::string tenant;     // printable; empty: none
  std::uint16_t cap = 0;  // permille; 0: none
  bool borrows = false;
  Priority priority = Priority::normal;
  bool alive = true;  // else its process has ended, and the next step of another one removes it
  bool holds = false;
  bool waits = false;
  Ns since = 0;            // for how long it has held the device, or waited
  std::uint64_t used = 0;  // device time, ns
  Ns waited = 0;           // for turns, in total, without the present wait
  Ns longest_wait = 0;     // of the last 10 to 20 s, with the present wait
  Ns capped = 0;           // of `waited`: for its cap
  Ns imposed = 0;          // how long others have waited while it held the device
  std::uint64_t turns = 0;
  bool declares = false;  // an intent, so that all take turns
};

// What a tenant has had: its processes that have ended, and those of now.
struct TenantReport {
  std::string tenant;  // printable; empty: those without
  std::uint64_t processes = 0;
  std::uint64_t used = 0;  // device time, ns
  std::uint64_t turns = 0;
  Ns waited = 0;
  Ns capped = 0;
  Ns imposed = 0;
};

// The entries of a sane state. All count as alive.
std::vector<ParticipantReport> participants_of(const View& state, Ns now);

enum class FileState : std::uint8_t {
  usable,
  missing,
  unreadable,
  foreign,        // it is no file of turns
  other_version,  // of Cleave
};

struct DeviceReport {
  std::string file;    // its name
  std::string device;  // printable; empty if it does not say
  FileState state = FileState::missing;
  std::string problem;       // why it is not usable, in a line
  bool is_declared = false;  // a participant has declared an intent; otherwise no turns are taken
  std::vector<ParticipantReport> participants;
  std::vector<TenantReport> tenants;
};

DeviceReport read_report(const std::string& folder, const std::string& file);

// Of all files of turns in the folder, in the order of their names; 256 at most. Empty if there is no such folder.
std::vector<DeviceReport> read_reports(const std::string& folder);

}  // namespace cleave::turns
