// Queries of devices and queues, most of them made once per object and kept in records.
#pragma once

#include <optional>
#include <string>

#include "base/settings.h"
#include "interpose/state/records.h"

namespace cleave::interpose {

// What the planner needs to know of a device, with the user's settings for it applied. Properties that the driver does
// not report are assumed to be small.
plan::Device query_device(const Table& next, const base::Settings& settings, cl_device_id device) noexcept;

// A hash, not 0, that identifies the device in every process of the machine: of its UUID, else its PCI address, else
// its names, which two devices may share.
std::uint64_t identity_of(const Table& next, cl_device_id device) noexcept;

// Where an NVIDIA GPU is on the PCI bus, as DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal digits; empty for other devices.
std::string nvidia_address(const Table& next, cl_device_id device);

// Whether the device is of OpenCL 1.0 or 1.1, which lack markers with wait lists, or does not say.
bool lacks_markers(const Table& next, cl_device_id device) noexcept;

// The driver's own function of an extension for which a program got ours; null if the driver has none for this device.
// The platform is asked first. A program may have used the older query, which some layers below answer alone.
void* find_extension_function(const Table& next, cl_device_id device, const char* name) noexcept;
// The same by an object of the driver.
void* find_extension_function(const Table& next, cl_command_queue queue, const char* name) noexcept;
void* find_extension_function(const Table& next, cl_context context, const char* name) noexcept;
void* find_extension_function(const Table& next, cl_kernel kernel, const char* name) noexcept;

// Empty if the driver does not know the queue.
std::optional<QueueRecord> query_queue(const Table& next, const base::Settings& settings,
                                       cl_command_queue queue) noexcept;

}  // namespace cleave::interpose
