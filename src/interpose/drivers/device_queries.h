// Questions to the driver about its devices and queues, asked once and kept in records.
#pragma once

#include <optional>

#include "interpose/interposer.h"

namespace cleave::interpose {

// What the planner needs to know of a device, with the user's settings for it applied. What the driver does
// not say is taken as small.
plan::Device query_device(const Interposer& interposer, cl_device_id device) noexcept;

// A hash that is the same for the same device in every process of the machine, and not 0: of its UUID, its
// place on the bus or, where the driver says neither, of its names, so that two devices may then be taken for
// one.
std::uint64_t identity_of(const Table& next, cl_device_id device) noexcept;

// Empty if the driver does not know the queue.
std::optional<QueueRecord> query_queue(const Interposer& interposer, cl_command_queue queue) noexcept;

}  // namespace cleave::interpose
