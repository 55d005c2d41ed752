// Remembers program binaries that were produced under Cleave, so that they are recognized when this or another process
// loads them again:
//
//   unsplittable  tagged slices would be wrong: not split even if the user trusts binaries
//   instrumented  contains the prelude
//
// Thread-safe. With a folder, each query reads a file there and each new binary appends a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "base/fork_locks.h"
#include "base/mutex.h"
#include "interpose/state/records.h"

namespace cleave::interpose {

using Binary = std::span<const std::byte>;

class KnownBinaries {
 public:
  enum class Mark : std::uint8_t { unsplittable, instrumented };

  // `folder` keeps marks between processes; empty: none does.
  KnownBinaries(base::ForkLocks& forks, std::string folder) : folder_(std::move(folder)) {
    forks.add(base::ForkOrder::known_binaries, mutex_);
  }

  void note(Mark mark, Binary binary);
  bool has(Mark mark, Binary binary);

 private:
  const std::string folder_;
  base::Mutex mutex_;
  std::set<std::string> known_ CLEAVE_GUARDED_BY(mutex_);  // marks and keys
};

// Whether the program was last built for `device` with the prelude.
bool has_prelude_for(const ProgramRecord& program, cl_device_id device);

// Whether tagged slices are right for the build for `device`.
bool is_correct_in_slices(const ProgramRecord& program, cl_device_id device);

}  // namespace cleave::interpose
