// What a driver reports about a device. Queried once and kept (devices.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/opencl.h"
#include "base/settings/settings.h"
#include "interpose/drivers/quirks.h"
#include "interpose/state/records.h"
#include "plan/device.h"

namespace cleave::interpose {

// The defaults are what is assumed of a device that answers nothing.
struct DeviceFacts {
  cl_device_id root = nullptr;  // itself, if it is no sub-device
  cl_platform_id platform = nullptr;
  cl_device_type type = CL_DEVICE_TYPE_CPU;
  cl_uint vendor = 0;
  std::optional<cl_uint> compute_units;
  std::optional<std::array<std::size_t, 3>> max_work_items;
  std::string name;
  std::string driver;           // name_driver() of it (driver_probe.h)
  std::uint64_t driver_id = 0;  // a hash of that; 0: unknown
  std::uint64_t identity = 0;   // identity_of() it
  bool lacks_markers = true;    // of OpenCL 1.0 or 1.1, which lack markers with wait lists
  bool may_have_timer = false;  // of OpenCL 2.1 or later
  Quirks quirks;
  plan::Device plan;
  SuggestLocalSize suggest_local_size = nullptr;

  [[nodiscard]] bool is_processor() const { return (type & CL_DEVICE_TYPE_CPU) != 0; }
};

// All of a device but its driver's name, with the user's settings applied. Properties that the driver does not report are
// assumed to be small. Calls nothing on `root`. May throw std::bad_alloc.
DeviceFacts query_facts(const Table& next, const base::Settings& settings, cl_device_id device,
                        cl_device_id root);

// What the driver says of the device in words; empty if it does not say.
std::string text_of(const Table& next, cl_device_id device, cl_device_info what);

// A hash, not 0, that identifies the device in every process of the machine: of its UUID, else its PCI address, else
// its names, which two devices may share.
std::uint64_t identity_of(const Table& next, cl_device_id device) noexcept;

}  // namespace cleave::interpose
