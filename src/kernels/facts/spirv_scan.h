// Finds out from the instructions of a SPIR-V module what its kernels may do with their NDRange. The module
// comes from the program and is not trusted: no length, count or order. Conservative: what is
// not known here to be harmless is not.
//
// A module defines the meaning of each of its instructions, so one result covers all its kernels. IL cannot
// have a prelude: a module is split only if it is neither reads_ndrange nor opaque.
//
// The members of Scan that are set for IL:
//   reads_ndrange     the built-in variables NumWorkgroups, WorkgroupId, WorkDim, GlobalSize, GlobalOffset, GlobalLinearId and
//                     all that are unknown here, or functions for them
//   opaque            device-side enqueues, functions of other programs or of the driver, and unknown instructions, decorations
//                     and execution modes (such as NoGlobalOffsetINTEL)
//   communicates      atomics, volatile, pipes, barriers whose scope may be wider than a work-group
//   may_wait          whatever communicates: its loops are not followed
//   reads_work_group  the size of the work-group, the position in it, or data of the work-group or sub-group
//   keeps_state       variables in the CrossWorkgroup storage class
//
// Source: SPIR-V 1.6, sections 2.3 "Physical Layout of a SPIR-V Module and Instruction", 2.17 "Universal
// Limits", 3 "Binary Form"; OpenCL SPIR-V Environment 3.0.
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "kernels/facts/source_scan.h"

namespace cleave::kernels {

// Empty if `module` is not SPIR-V or malformed. It need not be aligned. Takes time linear in its size; may
// throw std::bad_alloc. Adds the first cause of each finding to `causes`, if it is not null: the name of a built-in variable,
// of an imported function or of a set of instructions, else the number of an instruction.
std::optional<Scan> scan_spirv(std::span<const std::byte> module, Causes* causes = nullptr);

}  // namespace cleave::kernels
