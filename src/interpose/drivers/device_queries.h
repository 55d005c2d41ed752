// Queries of devices and queues. Those of a device are made once and kept (devices.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/settings.h"
#include "interpose/drivers/devices.h"
#include "interpose/state/records.h"

namespace cleave::interpose {

// All of a device but its driver's name, with the user's settings applied. Properties that the driver does not report are
// assumed to be small. May throw std::bad_alloc.
DeviceFacts query_facts(const Table& next, const base::Settings& settings, cl_device_id device);

// A hash, not 0, that identifies the device in every process of the machine: of its UUID, else its PCI address, else
// its names, which two devices may share.
std::uint64_t identity_of(const Table& next, cl_device_id device) noexcept;

// Where an NVIDIA GPU is on the PCI bus, as DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal digits; empty for other devices.
std::string nvidia_address(const Table& next, cl_device_id device);

// The driver's own function of an extension for which a program got ours; null if the driver has none for this device.
// The platform is asked first. A program may have used the older query, which some layers below answer alone.
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
