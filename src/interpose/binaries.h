// Binaries that stay whole even where the user trusts binaries: those that the driver made under Cleave from
// programs that slices with tags would not be right for. Remembered when the program asks for them, and known
// again when it, or another process, hands them back.
//
// Thread-safe. With a folder, every question reads a file there; each new binary adds a line to it.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "interpose/records.h"

namespace cleave::interpose {

using Binary = std::span<const std::byte>;

class Binaries {
 public:
  // `folder` keeps answers between processes; empty: none does.
  explicit Binaries(std::string folder) : folder_(std::move(folder)) {}

  void refuse(Binary binary);
  bool is_refused(Binary binary);

  // For fork(): nobody is inside meanwhile.
  std::mutex& lock() { return mutex_; }

 private:
  const std::string folder_;
  std::mutex mutex_;
  std::set<std::string> refused_;  // their keys
};

// Whether slices with tags are right for what was built for `device`.
bool is_right_in_slices(const ProgramRecord& program, cl_device_id device);

}  // namespace cleave::interpose
