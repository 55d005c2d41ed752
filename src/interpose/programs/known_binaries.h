// What is remembered of the binaries that the driver made under Cleave, when the program asks for them, and
// known again when it, or another process, hands them back:
//
//   refused  those of programs that slices with tags would not be right for: they stay whole even where the
//            user trusts binaries
//   dressed  those with the prelude in them
//
// Thread-safe. With a folder, every question reads a file there; each new binary adds a line to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "interpose/state/records.h"

namespace cleave::interpose {

using Binary = std::span<const std::byte>;

class KnownBinaries {
 public:
  enum class Mark : std::uint8_t { unsplittable, instrumented };

  // `folder` keeps answers between processes; empty: none does.
  explicit KnownBinaries(std::string folder) : folder_(std::move(folder)) {}

  void note(Mark mark, Binary binary);
  bool has(Mark mark, Binary binary);

  // For fork(): nobody is inside meanwhile.
  std::mutex& lock() { return mutex_; }

 private:
  const std::string folder_;
  std::mutex mutex_;
  std::set<std::string> known_;  // marks and keys
};

// Whether it was last built for `device` with the prelude.
bool has_prelude_for(const ProgramRecord& program, cl_device_id device);

// Whether slices with tags are right for what was built for `device`.
bool is_correct_in_slices(const ProgramRecord& program, cl_device_id device);

}  // namespace cleave::interpose
