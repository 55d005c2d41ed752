// Queries about the beginning of a split launch, answered from the slices with which it may have begun.
//
// Thread-safe.
#pragma once

#include "base/opencl.h"
#include "interpose/state/records.h"

namespace cleave::interpose {

// The status of the most advanced of the first slices; an error if one of them failed.
cl_int furthest(const Table& next, const SplitEventRecord& record);

// The earliest time at which one of them reached the point `name`; `fallback` if the driver reports none.
cl_ulong earliest(const Table& next, const SplitEventRecord& record, cl_profiling_info name,
                  cl_ulong fallback);

}  // namespace cleave::interpose
