// The keys under which costs of launches are kept (learn/cost_table.h): hashes that are the same in every process.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/opencl.h"
#include "base/settings/settings.h"
#include "interpose/state/records.h"
#include "learn/cost_table.h"
#include "plan/ndrange.h"

namespace cleave::interpose {

// A hash of a kernel's name, source and build options, also if it was made from a binary that is known. The text is not
// kept.
std::uint64_t identity_of_kernel(const std::string& name, const ProgramRecord* program) noexcept;

// Both are 0 if costs are not kept.
struct CostKeys {
  learn::Key launch = 0;
  learn::Key size_family = 0;  // launches whose times are roughly proportional to their sizes
};
// `in_turn`: a launch that has the device for itself, which takes a different time than one alongside others.
CostKeys cost_keys(base::LaunchMode mode, const KernelRecord& kernel, const QueueRecord& queue,
                   const plan::NDRange& range, bool in_turn = false);

// Under which it is kept how a launch's duration depends on PolicyDecision::fineness, where it has `launch`.
[[nodiscard]] inline learn::Key fineness_key(learn::Key launch) {
  constexpr std::uint64_t kFineness = 0x66696e65;
  return learn::mix_key(launch, kFineness);
}

// For users: "mm 5120x5120".
std::string launch_name(const KernelRecord& kernel, const plan::NDRange& range);

}  // namespace cleave::interpose
