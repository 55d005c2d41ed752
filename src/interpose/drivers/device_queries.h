// Queries of queues, and functions of extensions. What is known of devices is in devices.h.
#pragma once

#include <optional>

#include "interpose/drivers/devices.h"
#include "interpose/state/records.h"

namespace cleave::interpose {

// The driver's own function of an extension for which a program got ours; null if the driver has none for this device.
// The platform is queried first. A program may have used the older query, the only one that some layers below answer.
void* find_extension_function(const Table& next, Devices& devices, cl_device_id device,
                              const char* name) noexcept;
// The same by an object of the driver, which the program has just used.
void* find_extension_function(const Table& next, Devices& devices, cl_command_queue queue,
                              const char* name) noexcept;
void* find_extension_function(const Table& next, Devices& devices, cl_context context,
                              const char* name) noexcept;
// If the program has released the kernel's context, the function is that of any platform that has it.
void* find_extension_function(const Table& next, Devices& devices, RecordMap<HeldRecord>& contexts,
                              cl_kernel kernel, const char* name) noexcept;

// Empty if the driver does not know the queue.
std::optional<QueueRecord> query_queue(const Table& next, Devices& devices, cl_command_queue queue) noexcept;

}  // namespace cleave::interpose
