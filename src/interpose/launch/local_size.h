// The local size of a launch that names none, chosen once for all slices.
#pragma once

#include <optional>

#include "interpose/drivers/devices.h"
#include "interpose/state/records.h"
#include "plan/ndrange.h"

namespace cleave::interpose {

// The driver's suggestion; or our own choice with at least `slices` groups if the kernel cannot tell the difference
// (`depends_on_grouping` is false); or the driver's choice where its rule is known (Quirks::open_local_size). Empty if none of
// them gives one, if the source requires a size, or if the program has released the device: the launch is then not split.
// `range.local` is not read.
std::optional<plan::Extent> explicit_local_size(const Table& next, Devices& devices, const QueueRecord& queue,
                                                cl_command_queue handle, cl_kernel kernel,
                                                bool depends_on_grouping, const plan::NDRange& range,
                                                std::size_t slices) noexcept;

}  // namespace cleave::interpose
