// The face's one state object, and the door to what lies below it.
//
// Everything in it is written while begin() runs, before a program has a handle, and read-only from then on,
// but for `objects`, which is thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "icd/vendor/drivers/driver.h"
#include "objects/objects.h"
#include "opencl/extension_functions.h"

namespace cleave::vendor {

using opencl::ExtensionFunctions;

struct WrappedPlatform {
  drivers::Driver driver;
  objects::Object* platform = nullptr;
  ExtensionFunctions extensions;  // as the interposer gives them: they take the driver's handles
};

struct Vendor {
  std::recursive_mutex mutex;  // around begin() alone; a driver that is being loaded may ask us for platforms
  bool initialized = false;
  objects::Objects objects;
  Table dispatch_table{};  // what our objects point to
  Table routing_table{};   // all wrapped drivers at once
  // The interposer's table, or where that could not be made the drivers' own. Takes the driver's handles.
  const Table* next = nullptr;
  bool original_name = false;
  std::array<WrappedPlatform, drivers::kMostPlatforms> platforms;
  std::uint16_t platform_count = 0;
};

// Never destroyed: programs call OpenCL from exit handlers, too.
union NoDestructor {
  Vendor value;
  constexpr NoDestructor() : value() {}
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;
  ~NoDestructor() {}
};
extern constinit NoDestructor state;
inline constexpr Vendor& vendor = state.value;

// Reads the settings and wraps the drivers, once; later calls only wait for that. Never throws.
void begin() noexcept;

inline const WrappedPlatform& platform_of(const objects::Object& object) {
  return vendor.platforms[object.driver];
}

}  // namespace cleave::vendor
