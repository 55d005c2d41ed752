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
#include "icd/vendor/extension_functions.h"
#include "objects/objects.h"

namespace cleave::vendor {

struct Wrapped {
  drivers::Driver driver;
  objects::Object* platform = nullptr;
  ExtensionFunctions extensions;  // as the interposer gives them: they take the driver's handles
};

struct Vendor {
  std::recursive_mutex mutex;  // around begin() alone; a driver that is being loaded may ask us for platforms
  bool begun = false;
  objects::Objects objects;
  Table face{};     // what our objects point to
  Table drivers{};  // all wrapped drivers at once
  // The interposer's table, or where that could not be made the drivers' own. Takes the driver's handles.
  const Table* below = nullptr;
  bool original_name = false;
  std::array<Wrapped, drivers::kMostDrivers> wrapped;
  std::uint16_t count = 0;
};

// Never destroyed: programs call OpenCL from exit handlers, too.
union Forever {
  Vendor value;
  constexpr Forever() : value() {}
  Forever(const Forever&) = delete;
  Forever& operator=(const Forever&) = delete;
  ~Forever() {}
};
extern constinit Forever state;
inline constexpr Vendor& vendor = state.value;

// Reads the settings and wraps the drivers, once; later calls only wait for that. Never throws.
void begin() noexcept;

inline const Wrapped& wrapped_of(const objects::Object& object) { return vendor.wrapped[object.driver]; }

}  // namespace cleave::vendor
