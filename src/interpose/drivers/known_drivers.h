// What the probe (driver_probe.h) finds on drivers that are known exactly, so that a program's first start need not wait
// for it. Every other driver is probed.
//
// What is trusted: a driver's word for what it is. A row of the table holds only for a driver that gives each of its
// texts, which name the version, the compiler that it was built with and how, for the same kind of device on the same
// architecture, and only where none of the driver's own environment variables is set that could change what it compiles
// or runs. The processor's model, which PoCL's device version ends with, may be any. The platform's texts are queried
// below any face (base/driver_platform.h), so a name that a face shows neither makes a known driver nor hides one; no
// face changes the devices' texts. Devices of servers are never known, whatever they are called. With several Cleaves
// on top of each other, only the one that splits looks up the driver, below all of them.
//
// The facts are those of one prelude, one probe and one layout of tags: a table that was verified with others is not
// used. The test e2e.drivers.known compares the rows with what the probe finds on the installed drivers.
//
// Thread-safe. Reads the environment, as the drivers do when they build.
#pragma once

#include <optional>
#include <string_view>

#include "base/opencl.h"
#include "interpose/drivers/driver_probe.h"

namespace cleave::interpose {

// The probe_digest() with which the rows were verified. To change it: run e2e.drivers.known for each driver of the table
// with the new probe, correct the rows, then write down the digest that KnownDrivers.AreThoseOfThisProbe reports.
inline constexpr std::string_view kVerifiedProbe =
    "619ad95ec793aee2a600401eaa9fd59555f04f910758a888c8b21ac3fb96e847";

// Empty for a driver that is to be probed. Calls the driver for its texts alone. May throw std::bad_alloc.
std::optional<ProbeResult> known_facts(const Table& next, cl_device_id device);

// As known_facts(), of find_log_lines(): the build with a mistake that this makes lets some compilers print a line of their own.
std::optional<LogLines> known_log_lines(const Table& next, cl_device_id device);

}  // namespace cleave::interpose
