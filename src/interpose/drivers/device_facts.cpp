#include "interpose/drivers/device_facts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "base/text/hash.h"
#include "plan/device.h"

namespace cleave::interpose {
namespace {

// Of cl_nv_device_attribute_query and cl_amd_device_attribute_query (CL/cl_ext.h names them only in some
// versions).
constexpr cl_device_info kNvidiaMajor = 0x4000;
constexpr cl_device_info kNvidiaMinor = 0x4001;
constexpr cl_device_info kAmdSimds = 0x4040;
constexpr cl_device_info kAmdLanes = 0x4041;

// Of cl_khr_device_uuid and cl_khr_pci_bus_info, for the same reason.
constexpr cl_device_info kUuid = 0x106A;
constexpr cl_device_info kBus = 0x410F;

template <typename T>
T ask(const Table& next, cl_device_id device, cl_device_info what, T otherwise) {
  T value = otherwise;
  return next.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

// Hashes texts and bytes that a driver reports of a device.
class Fingerprint {
 public:
  // Returns false if the driver does not answer.
  bool take(const Table& next, cl_device_id device, cl_device_info what) {
    std::array<std::byte, 256> bytes{};
    std::size_t size = 0;
    if (next.clGetDeviceInfo(device, what, bytes.size(), bytes.data(), &size) != CL_SUCCESS) return false;
    hash_ = base::hash_of(std::span(bytes).first(std::min(size, bytes.size())), hash_);
    return size != 0;
  }
  std::uint64_t value() const { return hash_ != 0 ? hash_ : 1; }

 private:
  std::uint64_t hash_ = base::kHashSeed;
};

plan::DeviceProperties query_properties(const Table& next, cl_device_id device, const DeviceFacts& facts) {
  plan::DeviceProperties properties;
  properties.gpu = (facts.type & CL_DEVICE_TYPE_GPU) != 0;
  properties.cpu = (facts.type & CL_DEVICE_TYPE_CPU) != 0;
  properties.vendor = facts.vendor;
  properties.compute_units = facts.compute_units.value_or(1);
  if (properties.gpu && properties.vendor == plan::kNvidia) {
    properties.nv_major = ask<cl_uint>(next, device, kNvidiaMajor, 0);
    properties.nv_minor = ask<cl_uint>(next, device, kNvidiaMinor, 0);
  }
  if (properties.gpu && properties.vendor == plan::kAmd) {
    properties.amd_simds = ask<cl_uint>(next, device, kAmdSimds, 0);
    properties.amd_lanes = ask<cl_uint>(next, device, kAmdLanes, 0);
  }
  return properties;
}

void apply_settings(const base::Settings& settings, const std::string& name, plan::Device& facts) {
  for (const base::NamedSettings& named : settings.devices) {
    if (!base::matches(named.pattern, name)) continue;
    if (named.alpha.is_set()) facts.alpha = &named.alpha;
    if (named.cores != 0) facts.cores = named.cores;
  }
}

plan::Device plan_of(const Table& next, const base::Settings& settings, cl_device_id device,
                     const DeviceFacts& facts) {
  const plan::DeviceProperties properties = query_properties(next, device, facts);
  plan::Device plan;
  plan.cores = plan::cores(properties);
  plan.resident_groups = plan::resident_groups(properties);
  plan.resident_items = plan::resident_items(properties);
  plan.queues = plan::usable_queues(properties);
  plan.gains_from_pipelining = properties.gpu && !properties.cpu;
  apply_settings(settings, facts.name, plan);
  return plan;
}

std::optional<cl_uint> compute_units_of(const Table& next, cl_device_id device) {
  const auto units = ask<cl_uint>(next, device, CL_DEVICE_MAX_COMPUTE_UNITS, 0);
  return units != 0 ? std::optional(units) : std::nullopt;
}

std::optional<std::array<std::size_t, 3>> max_work_items_of(const Table& next, cl_device_id device) {
  // A driver may have more dimensions than the three that launches can use here.
  std::array<std::size_t, 16> all{};
  if (next.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof all, all.data(), nullptr) !=
      CL_SUCCESS)
    return std::nullopt;
  return std::array{all[0], all[1], all[2]};
}

SuggestLocalSize find_suggest_local_size(const Table& next, const DeviceFacts& facts) {
  if (facts.platform == nullptr || facts.quirks.suggest_corrupts_launches) return nullptr;
  return reinterpret_cast<SuggestLocalSize>(
      next.clGetExtensionFunctionAddressForPlatform(facts.platform, "clGetKernelSuggestedLocalWorkSizeKHR"));
}

}  // namespace

std::string text_of(const Table& next, cl_device_id device, cl_device_info what) {
  std::array<char, 1024> text{};
  return next.clGetDeviceInfo(device, what, text.size() - 1, text.data(), nullptr) == CL_SUCCESS
             ? text.data()
             : std::string();
}

DeviceFacts query_facts(const Table& next, const base::Settings& settings, cl_device_id device,
                        cl_device_id root) {
  DeviceFacts facts;
  facts.root = root;
  facts.platform = ask<cl_platform_id>(next, device, CL_DEVICE_PLATFORM, nullptr);
  facts.type = ask<cl_device_type>(next, device, CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU);
  facts.vendor = ask<cl_uint>(next, device, CL_DEVICE_VENDOR_ID, 0);
  facts.compute_units = compute_units_of(next, device);
  facts.max_work_items = max_work_items_of(next, device);
  facts.name = text_of(next, device, CL_DEVICE_NAME);
  const std::string version = text_of(next, device, CL_DEVICE_VERSION);
  facts.lacks_markers =
      version.empty() || version.starts_with("OpenCL 1.0") || version.starts_with("OpenCL 1.1");
  facts.may_have_timer = version.starts_with("OpenCL ") && !version.starts_with("OpenCL 1.") &&
                         !version.starts_with("OpenCL 2.0");
  facts.identity = identity_of(next, device);
  facts.quirks = quirks_of(next, device);
  facts.plan = plan_of(next, settings, device, facts);
  if (facts.quirks.crashes_on_several_queues) facts.plan.gains_from_pipelining = false;
  facts.suggest_local_size = find_suggest_local_size(next, facts);
  return facts;
}

std::uint64_t identity_of(const Table& next, cl_device_id device) noexcept {
  Fingerprint print;
  bool exact = false;
  for (const cl_device_info place : {kUuid, kBus}) exact = exact || print.take(next, device, place);
  if (!exact) {
    for (const cl_device_info name : {CL_DEVICE_NAME, CL_DEVICE_VENDOR}) print.take(next, device, name);
  }
  return print.value();
}

}  // namespace cleave::interpose
