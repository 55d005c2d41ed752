// The vendors' drivers: which libraries they are in, their platforms, and a table through which all of them
// are called at once.
//
// A driver's object begins with a pointer to its dispatch table. Where that table has the tag of cl_khr_icd 2
// in two places, the object's second word leads to a table of ours, which we have filled from the driver and
// given to its platform, as a loader does.
//
// Source: cl_khr_icd 2.0 and the Khronos OpenCL-ICD-Loader, loader/icd.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/opencl.h"

namespace cleave::vendor::drivers {

inline constexpr std::size_t kMostPlatforms = 64;

using FindFunction = void*(CL_API_CALL*)(const char*);

// One platform of a driver's library.
struct Driver {
  cl_platform_id platform = nullptr;
  FindFunction find = nullptr;  // the library's clGetExtensionFunctionAddress
};

// CL_ICD2_TAG_KHR, which the headers of many systems do not have yet. "OPENCL31"
inline constexpr std::intptr_t kIcd2Tag =
    sizeof(void*) == 4 ? std::intptr_t{0x434C3331} : static_cast<std::intptr_t>(0x4F50454E434C3331);

inline bool is_icd2_table(const Table& table) {
  return reinterpret_cast<std::intptr_t>(table.clGetPlatformIDs) == kIcd2Tag &&
         reinterpret_cast<std::intptr_t>(table.clUnloadCompiler) == kIcd2Tag;
}

// How any driver's object begins.
struct ObjectHeader {
  const Table* dispatch;
  const Table* dispatch_data;
};

// The table of functions that a driver's object is to be called through. Requires: not null.
inline const Table& table_of(const void* object) {
  const auto& beginning = *static_cast<const ObjectHeader*>(object);
  return is_icd2_table(*beginning.dispatch) ? *beginning.dispatch_data : *beginning.dispatch;
}

// Loads what `paths` name (libraries, .icd files, folders of .icd files) and asks for the platforms, at most
// kMostPlatforms. Faces of Cleave and OpenCL loaders are passed over, or calls would go round in circles. What
// cannot be loaded is one line each in `problems`. The libraries stay loaded for ever.
std::vector<Driver> load(const std::vector<std::string>& paths, std::vector<std::string>& problems);

// A table that hands each call to the driver of its first handle; functions that have none go over all that
// are wrapped (vendor/state.h). No entry is null.
Table make_table();

}  // namespace cleave::vendor::drivers
