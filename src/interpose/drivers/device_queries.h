// Queries of devices and queues, made once per object and kept in records.
#pragma once

#include <optional>

#include "base/settings.h"
#include "interpose/state/records.h"

namespace cleave::interpose {

// What the planner needs to know of a device, with the user's settings for it applied. Properties that the driver does
// not report are assumed to be small.
plan::Device query_device(const Table& next, const base::Settings& settings, cl_device_id device) noexcept;

// A hash, not 0, that identifies the device in every process of the machine: of its UUID, else its PCI address, else
// its names, which two devices may share.
std::uint64_t identity_of(const Table& next, cl_device_id device) noexcept;

// Empty if the driver does not know the queue.
std::optional<QueueRecord> query_queue(const Table& next, const base::Settings& settings,
                                       cl_command_queue queue) noexcept;

}  // namespace cleave::interpose
