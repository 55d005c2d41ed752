// Cleave as a layer of an OpenCL loader. No decisions here.
//
// Source: cl_loader_layers 1.0 (Khronos OpenCL-ICD-Loader). ocl-icd and older Khronos loaders call clInitLayer, newer ones
// clInitLayerWithProperties, so far with null `properties`. The loader uses the returned table until the process ends.

#include <CL/cl_layer.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/configuration.h"
#include "base/mutex.h"
#include "base/scoped_thread_state.h"
#include "icd/remote_platforms.h"
#include "interpose/calls/table.h"
#include "opencl/missing_functions.h"

namespace {

using cleave::Table;

constexpr cl_uint kEntries = sizeof(Table) / sizeof(void*);

// The layer's part of the process-wide state.
struct LayerFace {
  cleave::base::Mutex mutex;
  const Table* table CLEAVE_GUARDED_BY(mutex) = nullptr;
};
constinit LayerFace layer;

const Table* install_once(cl_uint entries, const Table* target) {
  const cleave::base::MutexLock lock(layer.mutex);
  if (layer.table == nullptr) {
    Table next{};
    std::memcpy(&next, target, std::size_t{std::min(entries, kEntries)} * sizeof(void*));
    auto configuration = cleave::base::load(cleave::base::process_environment());
    if (cleave::icd::wants_remote(configuration.settings))
      cleave::icd::add_remote_platforms(next, configuration.settings, true);
    cleave::opencl::fill_missing_functions(next);
    layer.table = cleave::interpose::install(next, {"layer", "the loader"}, std::move(configuration));
  }
  return layer.table;
}

cl_int init_layer(cl_uint entries, const Table* target, cl_uint* entries_ret,
                  const Table** table_ret) noexcept {
  const cleave::base::ScopedCancelDisable cancel_disable;
  if (target == nullptr || entries_ret == nullptr || table_ret == nullptr) return CL_INVALID_VALUE;
  const Table* const table = install_once(entries, target);
  if (table == nullptr) return CL_OUT_OF_HOST_MEMORY;
  *table_ret = table;
  *entries_ret = std::min(entries, kEntries);
  return CL_SUCCESS;
}

cl_int copy_info(const void* data, size_t bytes, size_t size, void* value, size_t* size_ret) noexcept {
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, data, bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

__attribute__((constructor)) void on_load() { cleave::interpose::at_load(); }

// Destructors of a library that the loader loads run after the program's own.
__attribute__((destructor)) void on_unload() { cleave::interpose::at_exit(); }

}  // namespace

#define CLEAVE_EXPORT extern "C" __attribute__((visibility("default")))

CLEAVE_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value,
                                                size_t* size_ret) {
  constexpr std::string_view kName = "cleave";
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  switch (name) {
    case CL_LAYER_API_VERSION:
      return copy_info(&version, sizeof version, size, value, size_ret);
    case CL_LAYER_NAME:
      return copy_info(kName.data(), kName.size() + 1, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

CLEAVE_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch* target_dispatch,
                                             cl_uint* num_entries_ret,
                                             const cl_icd_dispatch** layer_dispatch_ret) {
  return init_layer(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret);
}

// Not yet in every system's headers. `properties` is a list that ends in 0, or null.
CLEAVE_EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries,
                                                           const cl_icd_dispatch* target_dispatch,
                                                           cl_uint* num_entries_ret,
                                                           const cl_icd_dispatch** layer_dispatch_ret,
                                                           const cl_properties* properties) {
  static_cast<void>(properties);  // none is defined so far
  return init_layer(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret);
}
