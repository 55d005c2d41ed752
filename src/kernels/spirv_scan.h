// What the kernels of a SPIR-V module may do with their NDRange, read from its instructions. The module is
// what a program handed in, so nothing in it is trusted: no length, no count, no order. When in doubt, the
// answer is the careful one; whatever is not known here to be harmless is not.
//
// A module holds all its kernels' instructions and says what each of them means, so one answer goes for all
// of its kernels. IL cannot be given a prelude: a module is split only if it neither sees nor is opaque.
//
// What of a Scan is told of IL:
//   sees         the built-in variables NumWorkgroups, WorkgroupId, WorkDim, GlobalSize, GlobalOffset,
//                GlobalLinearId and all that are unknown here, or functions that stand for them
//   opaque       device-side enqueues, functions that another program or the driver brings, instructions,
//                decorations and execution modes unknown here (NoGlobalOffsetINTEL is one)
//   talks        atomics, volatile, pipes, barriers whose scope may be wider than a work-group
//   reads_work_group  its work-group's size or place is read, or what its work-group or sub-group holds
//
// Source: SPIR-V 1.6, sections 2.3 "Physical Layout of a SPIR-V Module and Instruction", 2.17 "Universal
// Limits", 3 "Binary Form"; OpenCL SPIR-V Environment 3.0.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "kernels/source_scan.h"

namespace cleave::kernels {

// Empty if `module` is not SPIR-V, or cannot be read to its end. It need not be aligned. Takes time linear in
// its size; may throw std::bad_alloc.
std::optional<Scan> scan_spirv(std::span<const std::byte> module);

}  // namespace cleave::kernels
