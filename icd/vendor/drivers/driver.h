// The vendors' drivers: their libraries and platforms, and a table that routes each call to one of them.
//
// A driver's object begins with a pointer to its dispatch table. Where that table has the tag of cl_khr_icd 2
// in two places, the object's second word points to a table of ours, which was filled from the driver and given to
// its platform, as loaders do.
//
// Source: cl_khr_icd 2.0 and the Khronos OpenCL-ICD-Loader, loader/icd.c.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/opencl.h"

namespace cleave::vendor::drivers {

inline constexpr std::size_t kMaxPlatforms = 64;

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

// The first two words of any driver's object.
struct ObjectHeader {
  const Table* dispatch;
  const Table* dispatch_data;
};

// The dispatch table of a driver's object. Requires: not null.
inline const Table& table_of(const void* object) {
  assert(object != nullptr);
  const auto& beginning = *static_cast<const ObjectHeader*>(object);
  return is_icd2_table(*beginning.dispatch) ? *beginning.dispatch_data : *beginning.dispatch;
}

// Loads the drivers that `paths` name (libraries, .icd files, folders of .icd files) and returns their platforms, at
// most kMaxPlatforms. Libraries of Cleave and OpenCL loaders are refused, since calls would loop. What cannot be
// loaded is one line each in `problems`. The libraries stay loaded forever.
std::vector<Driver> load(const std::vector<std::string>& paths, std::vector<std::string>& problems);

// A table that routes each call to the driver of its first handle; functions without a handle go to all wrapped
// platforms (vendor/state.h). No entry is null.
Table make_table();

}  // namespace cleave::vendor::drivers
