// The number of VMs and the registry's folder, by the settings of the user who runs `cleave top`.
#pragma once

#include <chrono>
#include <string>

#include "cleave/registry.h"
#include "cli/probe/child_process.h"
#include "cli/probe/records.h"
#include "cli/system/drivers.h"
#include "cli/top/view.h"

namespace cleave::cli {

// A drop-in in a child process, which reads the settings and follows the sources of the number of VMs. For one thread.
class NeighbourProbe {
 public:
  NeighbourProbe();

  // A descriptor that becomes readable when there is something for read(); -1: there will be nothing more.
  int stream() const { return is_open_ ? child_.stream() : -1; }
  void read();
  // Waits for the first answer, but no longer than `timeout`.
  void await(std::chrono::milliseconds timeout);

  // Empty: not known.
  const std::string& vms() const { return vms_; }
  const std::string& sources() const { return sources_; }
  const std::string& registry() const { return registry_; }

 private:
  void take(const Record& record);

  DriverSelection none_;
  StreamingChild child_;
  bool is_open_ = true;
  std::string vms_;
  std::string sources_;
  std::string pending_sources_;
  std::string registry_ = CLEAVE_REGISTRY_FOLDER;
};

// A snapshot of the machine: the present content of the registry's folder.
Snapshot take_snapshot(const NeighbourProbe& neighbours);

}  // namespace cleave::cli
