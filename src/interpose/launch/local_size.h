// The local size of a launch that names none, made explicit once for all its slices.
#pragma once

#include <optional>

#include "interpose/interposer.h"

namespace cleave::interpose {

// What the driver suggests, else our own choice that leaves at least `slices` groups, for kernels that cannot
// tell it from the driver's (`sees_groups` is false). Empty where neither gives one, and where the source
// requires a size; the launch should then stay whole.
// `range.local` is not read.
std::optional<plan::Extent> explicit_local_size(const Interposer& interposer, const QueueRecord& queue,
                                                cl_command_queue handle, cl_kernel kernel, bool sees_groups,
                                                const plan::NDRange& range, std::size_t slices) noexcept;

}  // namespace cleave::interpose
