// Cleave as a layer of an OpenCL loader. No decisions here.
//
// Source: cl_loader_layers 1.0 (Khronos OpenCL-ICD-Loader). ocl-icd and older Khronos loaders call clInitLayer, newer ones
// clInitLayerWithProperties, so far with null `properties`.
//
// The layer stays loaded, a loader need not: a program may close it and open it again, and what comes then gives the layer another
// table. So the interposer is put, once, on functions that forward to whichever table is the present loader's.

#include <CL/cl_layer.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/settings/configuration.h"
#include "base/threads/mutex.h"
#include "base/threads/scoped_thread_state.h"
#include "icd/remote_platforms.h"
#include "interpose/calls/table.h"
#include "opencl/missing_functions.h"

namespace {

using cleave::Table;

constexpr cl_uint kEntries = sizeof(Table) / sizeof(void*);

// A loader's functions, and the library that they are in.
struct Target {
  Table table{};
  std::string library;
  const void* base = nullptr;
};

// The layer's part of the process-wide state.
struct LayerFace {
  std::atomic<const Table*> target{nullptr};  // the present loader's
  cleave::base::Mutex mutex;
  const Table* table CLEAVE_GUARDED_BY(mutex) = nullptr;
  std::list<Target>* targets CLEAVE_GUARDED_BY(mutex) = nullptr;  // the present one first; never freed
};
constinit LayerFace layer;

// The function in the entry `Entry` of the table below the interposer.
template <auto Entry, typename Function>
struct Forward;

template <auto Entry, typename Result, typename... Parameters>
struct Forward<Entry, Result(CL_API_CALL*)(Parameters...)> {
  // Not noexcept: the thread may be cancelled within the driver's function, which unwinds the stack.
  static Result CL_API_CALL call(Parameters... parameters) {
    return (layer.target.load(std::memory_order_acquire)->*Entry)(parameters...);
  }
};

// What is not a function of OpenCL on this system is the first loader's.
Table forwarding_table(const Table& first) {
  Table table = first;
#define CL_FUNCTION(version, name, ...) table.name = Forward<&Table::name, decltype(Table::name)>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
  return table;
}

// Where the library is in which a table's functions are.
void locate(Target& target) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(target.table.clGetPlatformIDs), &info) == 0) return;
  target.library = info.dli_fname != nullptr ? info.dli_fname : "";
  target.base = info.dli_fbase;
}

bool is_loaded(const Target& target) {
  Target now;
  now.table.clGetPlatformIDs = target.table.clGetPlatformIDs;
  locate(now);
  return target.base != nullptr && now.base == target.base && now.library == target.library;
}

bool are_same(const Table& a, const Table& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// Makes the table the present loader's. False: another loader is in use, of which the program still has objects.
bool use_target(const Table& table) CLEAVE_REQUIRES(layer.mutex) {
  if (layer.targets == nullptr) layer.targets = new std::list<Target>;
  auto& all = *layer.targets;
  Target made{table, "", nullptr};
  locate(made);
  if (!all.empty()) {
    const Target& present = all.front();
    if (are_same(present.table, table)) return true;
    if (made.base != present.base && is_loaded(present)) return false;
  }
  // A loader that is opened again is often where one was before.
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const Target& each) { return are_same(each.table, table); });
  if (known == all.end()) {
    all.push_front(std::move(made));
  } else {
    known->library = made.library;
    known->base = made.base;
    all.splice(all.begin(), all, known);
  }
  layer.target.store(&all.front().table, std::memory_order_release);
  return true;
}

// The table for a loader with these functions; null without memory.
const Table* table_for(cl_uint entries, const Table* target) noexcept try {
  Table next{};
  std::memcpy(&next, target, std::size_t{std::min(entries, kEntries)} * sizeof(void*));
  cleave::opencl::fill_missing_functions(next);
  const cleave::base::MutexLock lock(layer.mutex);
  if (!use_target(next)) return target;
  if (layer.table == nullptr) {
    Table below = forwarding_table(next);
    auto configuration = cleave::base::load(cleave::base::process_environment());
    if (cleave::icd::wants_remote(configuration.settings))
      cleave::icd::add_remote_platforms(below, configuration.settings, true);
    layer.table = cleave::interpose::install(below, {"layer", "the loader"}, std::move(configuration));
  }
  return layer.table;
} catch (const std::bad_alloc&) {
  return nullptr;
}

cl_int init_layer(cl_uint entries, const Table* target, cl_uint* entries_ret,
                  const Table** table_ret) noexcept {
  const cleave::base::ScopedCancelDisable cancel_disable;
  if (target == nullptr || entries_ret == nullptr || table_ret == nullptr) return CL_INVALID_VALUE;
  const Table* const table = table_for(entries, target);
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
