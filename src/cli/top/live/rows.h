// The rows of the live screen's table, for a process on a device or a tenant on a device, and the line of each device
// above it. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::cli {

// Shares of the time between two refreshes, from 0 to 1, oldest first.
using Shares = std::vector<double>;

// What is not known is empty. Texts are printable ASCII.
struct TopRow {
  std::string key;              // identifies the row across refreshes
  std::optional<unsigned> pid;  // none: of a tenant
  std::string user;
  std::string tenant;
  std::optional<std::size_t> device;  // its number on the screen
  std::uint64_t processes = 1;        // that live; of a tenant
  std::string priority;               // in the words of CLEAVE_PRIORITY
  std::optional<unsigned> weight;
  std::optional<unsigned> cap;  // permille; 0: none
  bool borrows = false;
  char state = '-';             // H: holds the device, W: waits for it, R: idle
  std::optional<double> share;  // of the device's time since the last refresh, 0 to 1
  std::optional<double>
      waiting;  // of the time since the last refresh, 0 to 1; of a tenant the sum of its processes
  std::optional<std::uint64_t> used;    // device time, ns, in total
  std::optional<std::uint64_t> waited;  // ns, in total
  std::optional<std::uint64_t> launches;
  std::optional<std::uint64_t> memory;  // bytes
  std::string command;
  Shares history;  // of `share`
};

struct TopDevice {
  std::size_t number = 0;     // stays, whatever devices come
  std::string name;           // of its file, if the device's is not known
  std::string problem;        // why its file cannot be used; empty if it can
  std::string holder;         // "4711 train"; empty: none
  std::int64_t held_for = 0;  // ns
  unsigned waiting = 0;
  std::optional<double> share;          // of all together since the last refresh, 0 to 1
  std::optional<std::uint64_t> memory;  // bytes that processes have booked
  Shares history;
};

struct TopScene {
  std::string heading;
  std::vector<TopDevice> devices;
  std::vector<TopRow> processes;
  std::vector<TopRow> tenants;
};

}  // namespace cleave::cli
