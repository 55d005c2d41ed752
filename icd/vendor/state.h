// The vendor library's one state object, which leads to the next table below it.
//
// All of it is written by initialize(), before a program has a handle, and read-only from then on, except `objects`,
// which is thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/no_destructor.h"
#include "base/threads/mutex.h"
#include "icd/vendor/drivers/driver.h"
#include "objects/objects.h"
#include "opencl/extension_functions.h"

namespace cleave::vendor {

using opencl::ExtensionFunctions;

struct WrappedPlatform {
  drivers::Driver driver;
  // What its objects point to. Equal for all, but each has its own, by which a server distinguishes the drivers' handles.
  std::unique_ptr<const Table> dispatch_table;
  objects::Object* platform = nullptr;
  ExtensionFunctions extensions;  // as the interposer returns them; they take the driver's handles
};

struct Vendor {
  // Held by initialize() alone. Recursive: a driver that is being loaded may query us for platforms.
  base::RecursiveMutex mutex;
  bool initialized CLEAVE_GUARDED_BY(mutex) = false;
  objects::Objects objects;
  Table dispatch_table{};  // of our functions
  Table routing_table{};   // calls the wrapped drivers
  // The interposer's table, or `routing_table` where memory ran out. Takes the drivers' handles.
  const Table* next = nullptr;
  bool original_name = true;
  std::array<WrappedPlatform, drivers::kMaxPlatforms> platforms;
  std::uint16_t platform_count = 0;
};

// Never destroyed: programs call OpenCL from exit handlers as well.
extern constinit base::NoDestructor<Vendor> state;
inline constexpr Vendor& vendor = *state;

// Reads the settings and loads the drivers, once; later calls wait until that is done. Never throws.
void initialize() noexcept;

inline const WrappedPlatform& platform_of(const objects::Object& object) {
  return vendor.platforms[object.driver];
}

}  // namespace cleave::vendor
