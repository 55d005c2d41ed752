#include "interpose/drivers/known_drivers.h"

#include <algorithm>
#include <array>
#include <span>
#include <unistd.h>

#include "base/driver_platform.h"
#include "base/text/digest.h"

namespace cleave::interpose {
namespace {

// All rows were verified on x86-64. A driver that is no server's has the architecture of its process.
#if defined(__x86_64__) && defined(__LP64__)
constexpr bool kIsVerifiedArchitecture = true;
#else
constexpr bool kIsVerifiedArchitecture = false;
#endif

// A processor's model follows a device version that ends like this.
constexpr char kOpenEnd = '-';

struct KnownDriver {
  std::string_view platform_name;
  std::string_view platform_version;
  std::string_view driver_version;
  std::string_view device_version;
  cl_device_type type;
  std::string_view variables;                  // how the names of its environment variables begin
  std::span<const std::string_view> harmless;  // those that change neither code nor launches
  ProbeResult facts;
  std::string_view log_place;  // find_log_lines()
  unsigned log_shift;
};

constexpr std::array<std::string_view, 6> kHarmlessToPocl = {"POCL_AFFINITY",     "POCL_CACHE_DIR",
                                                             "POCL_DEBUG",        "POCL_DEVICES",
                                                             "POCL_KERNEL_CACHE", "POCL_MAX_PTHREAD_COUNT"};
constexpr std::array<std::string_view, 1> kHarmlessToOclgrind = {"OCLGRIND_NUM_THREADS"};

constexpr std::array<KnownDriver, 2> kKnownDrivers = {{
    // Debian 12
    {"Portable Computing Language",
     "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 15.0.6, SLEEF, DISTRO, POCL_DEBUG",
     "3.1+debian",
     "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-",
     CL_DEVICE_TYPE_CPU,
     "POCL_",
     kHarmlessToPocl,
     {.carries_tags = true, .carries_volume_tags = true, .truncates_offsets = false},
     "",
     0},
    {"Oclgrind",
     "OpenCL 1.2 (Oclgrind 21.10)",
     "Oclgrind 21.10",
     "OpenCL 1.2 (Oclgrind 21.10)",
     CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_DEFAULT,
     "OCLGRIND_",
     kHarmlessToOclgrind,
     {.carries_tags = true, .carries_volume_tags = true, .truncates_offsets = false},
     "input.cl",
     130},
}};

// The start of the text if it is longer.
class DeviceText {
 public:
  DeviceText(const Table& next, cl_device_id device, cl_device_info what) {
    if (next.clGetDeviceInfo(device, what, text_.size() - 1, text_.data(), nullptr) != CL_SUCCESS) text_ = {};
  }
  [[nodiscard]] std::string_view view() const { return text_.data(); }

 private:
  std::array<char, 256> text_{};
};

template <typename T>
T number_of(const Table& next, cl_device_id device, cl_device_info what) {
  T number{};
  if (next.clGetDeviceInfo(device, what, sizeof number, &number, nullptr) != CL_SUCCESS) return {};
  return number;
}

bool is_version(std::string_view found, std::string_view known) {
  return known.ends_with(kOpenEnd) ? found.starts_with(known) : found == known;
}

// Whether a variable is set that could change what the driver does with a kernel.
bool is_changed_by_environment(const KnownDriver& driver) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with(driver.variables)) continue;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::find(driver.harmless.begin(), driver.harmless.end(), name) == driver.harmless.end()) return true;
  }
  return false;
}

const KnownDriver* find_driver(const Table& next, cl_platform_id platform, cl_device_id device) {
  const base::PlatformText name = base::driver_platform_text(next, platform, CL_PLATFORM_NAME);
  const base::PlatformText version = base::driver_platform_text(next, platform, CL_PLATFORM_VERSION);
  const DeviceText driver_version(next, device, CL_DRIVER_VERSION);
  const DeviceText device_version(next, device, CL_DEVICE_VERSION);
  const auto type = number_of<cl_device_type>(next, device, CL_DEVICE_TYPE);
  const auto found = std::find_if(kKnownDrivers.begin(), kKnownDrivers.end(), [&](const KnownDriver& known) {
    return known.platform_name == name.data() && known.platform_version == version.data() &&
           known.driver_version == driver_version.view() &&
           is_version(device_version.view(), known.device_version) && known.type == type;
  });
  return found != kKnownDrivers.end() ? &*found : nullptr;
}

// The row of the table that holds for this device; null if there is none.
const KnownDriver* verified_driver(const Table& next, cl_device_id device) {
  if (!kIsVerifiedArchitecture) return nullptr;
  const auto platform = number_of<cl_platform_id>(next, device, CL_DEVICE_PLATFORM);
  if (platform == nullptr || base::is_remote_platform(next, platform)) return nullptr;
  const KnownDriver* const driver = find_driver(next, platform, device);
  if (driver == nullptr || is_changed_by_environment(*driver)) return nullptr;
  return base::to_text(probe_digest()) == kVerifiedProbe ? driver : nullptr;
}

}  // namespace

std::optional<ProbeResult> known_facts(const Table& next, cl_device_id device) {
  const KnownDriver* const driver = verified_driver(next, device);
  return driver != nullptr ? std::optional(driver->facts) : std::nullopt;
}

std::optional<LogLines> known_log_lines(const Table& next, cl_device_id device) {
  const KnownDriver* const driver = verified_driver(next, device);
  if (driver == nullptr) return std::nullopt;
  return LogLines{std::string(driver->log_place), driver->log_shift};
}

}  // namespace cleave::interpose
