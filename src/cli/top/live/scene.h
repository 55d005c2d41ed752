// Turns snapshots of the machine into what the live screen shows: rows, the shares of the time between two snapshots, and their history.
//
// Nothing here reads the machine. For one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/live/history.h"
#include "cli/top/live/rows.h"
#include "cli/top/view.h"
#include "limits/memory_ledger.h"

namespace cleave::cli {

// Of a process in the registry: printable, or empty.
struct ProcessNames {
  std::string user;
  std::string command;
};

struct TopLook {
  Snapshot snapshot;
  std::vector<limits::LedgerReport> ledgers;
  std::map<std::string, ProcessNames> names;  // by the process's file in the registry
};

class SceneBuilder {
 public:
  // The rows for that snapshot. Shares and history are relative to the previous call; the first has none.
  TopScene take(const TopLook& look);

 private:
  struct Totals {
    std::uint64_t used = 0;
    std::uint64_t waited = 0;
  };
  struct Rates {
    std::optional<double> share;
    std::optional<double> waiting;
  };
  using Clock = std::chrono::steady_clock;

  std::size_t number_of(const std::string& file);
  // Rates since the previous snapshot, from these totals.
  Rates rates(const std::string& key, Totals now);
  Shares remember(const std::string& key, const std::optional<double>& share);
  void add_takers(TopScene& scene, const TopLook& look, const SharedDevice& device, std::size_t number);
  void add_others(TopScene& scene, const TopLook& look, const std::string& file, std::size_t number);
  void add_tenants(TopScene& scene, const SharedDevice& device, const std::string& file, std::size_t number);
  TopDevice device_line(const TopScene& scene, const TopLook& look, const SharedDevice& device,
                        const std::string& file, std::size_t number);

  std::map<std::string, std::size_t> numbers_;  // of devices, by their files
  std::map<std::string, Totals> before_;
  std::map<std::string, Totals> now_;
  std::optional<Clock::time_point> looked_before_;
  double elapsed_ = 0;  // ns; 0: none
  Histories histories_;
};

}  // namespace cleave::cli
