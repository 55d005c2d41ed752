// How many virtual machines share the host. So far the count is the one that the user sets; a source that
// follows the host lives beside this file and stores into the same atomic.
//
// Thread-safe. A read is one relaxed atomic load.
#pragma once

#include <atomic>

#include "base/settings.h"

namespace cleave::neighbours {

class Neighbours {
 public:
  // Without a count in the settings the VM is taken to be alone.
  explicit Neighbours(const base::Settings& settings) : vms_(settings.vms.value_or(1)) {}

  // Running VMs of the host, this one included; at least 1.
  [[nodiscard]] unsigned vms() const { return vms_.load(std::memory_order_relaxed); }

 private:
  std::atomic<unsigned> vms_;
};

}  // namespace cleave::neighbours
