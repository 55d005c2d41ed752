#include "icd/remote_platforms.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/driver_platform.h"
#include "base/log.h"
#include "opencl/missing_functions.h"

namespace cleave::icd {
namespace {

// The client library's entry point (remote/client/library/entry.h).
using OfferPlatforms = cl_int(CL_API_CALL*)(cl_uint, cl_platform_id*, cl_uint*, const Table**);
constexpr const char* kOfferPlatforms = "clOfferPlatformsCLEAVE";
using FindFunction = void*(CL_API_CALL*)(const char*);

// The face's part of the process-wide state. Written by add_remote_platforms() and read-only from then on, except for
// `table`.
struct Remote {
  Table below{};  // the loader's
  OfferPlatforms offer = nullptr;
  bool required = false;
  bool first = false;                        // remote.prefer
  std::atomic<const Table*> table{nullptr};  // the client's, after the first query for platforms
};
constinit Remote remote;

// Whether a handle is the remote client's: its first word is the client's table, as with every driver's handles.
bool is_client_handle(const void* handle) {
  const Table* const table = remote.table.load(std::memory_order_acquire);
  return handle != nullptr && table != nullptr && *static_cast<const Table* const*>(handle) == table;
}

// The table to call with this handle. Loaders reject platforms that they have not found themselves in some calls.
const Table& table_for(const void* handle) {
  return is_client_handle(handle) ? *remote.table.load(std::memory_order_acquire) : remote.below;
}

bool is_remote_platform(cl_platform_id platform) {
  return is_client_handle(platform) || base::is_remote_platform(remote.below, platform);
}

// The loader's platforms and the client's, unless a face below has added them already.
std::vector<cl_platform_id> all_platforms() {
  cl_uint count = 0;
  std::vector<cl_platform_id> platforms;
  if (remote.below.clGetPlatformIDs(0, nullptr, &count) == CL_SUCCESS && count != 0) {
    platforms.resize(count);
    if (remote.below.clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) platforms.clear();
  }
  if (std::any_of(platforms.begin(), platforms.end(), is_remote_platform)) return platforms;
  cl_platform_id own = nullptr;
  const Table* table = nullptr;
  if (remote.offer(1, &own, nullptr, &table) == CL_SUCCESS) {
    remote.table.store(table, std::memory_order_release);
    platforms.insert(remote.first ? platforms.begin() : platforms.end(), own);
    return platforms;
  }
  if (remote.required) platforms.clear();
  return platforms;
}

cl_int CL_API_CALL get_platform_ids(cl_uint entries, cl_platform_id* platforms, cl_uint* count) try {
  if ((entries == 0 && platforms != nullptr) || (platforms == nullptr && count == nullptr))
    return CL_INVALID_VALUE;
  const std::vector<cl_platform_id> all = all_platforms();
  if (count != nullptr) *count = static_cast<cl_uint>(all.size());
  if (all.empty()) return opencl::kPlatformNotFound;
  if (platforms != nullptr) std::copy_n(all.begin(), std::min<std::size_t>(entries, all.size()), platforms);
  return CL_SUCCESS;
} catch (...) {
  return CL_OUT_OF_HOST_MEMORY;
}

// Whether the platform's first device of the type is of a server that is lost. If that is not known yet, it may be found only when a
// context is created.
bool is_lost(cl_platform_id platform, cl_device_type type) {
  const Table& table = table_for(platform);
  cl_device_id device = nullptr;
  cl_bool available = CL_TRUE;
  return table.clGetDeviceIDs(platform, type, 1, &device, nullptr) == CL_SUCCESS &&
         table.clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available, nullptr) ==
             CL_SUCCESS &&
         available == CL_FALSE;
}

// The remote platform if there is no other, or if the settings put it first and its server is there. Else the loader chooses.
cl_platform_id default_platform(cl_device_type type = CL_DEVICE_TYPE_DEFAULT) try {
  const std::vector<cl_platform_id> all = all_platforms();
  if (all.empty() || !is_remote_platform(all[0])) return nullptr;
  return all.size() == 1 || (remote.first && !is_lost(all[0], type)) ? all[0] : nullptr;
} catch (...) {
  return nullptr;
}

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  if (platform == nullptr) platform = default_platform(type);
  return table_for(platform).clGetDeviceIDs(platform, type, entries, devices, count);
}

cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void* value,
                                     size_t* size_ret) {
  if (platform == nullptr) platform = default_platform();
  return table_for(platform).clGetPlatformInfo(platform, name, size, value, size_ret);
}

using Notify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices, Notify notify, void* user_data,
                                      cl_int* error_ret) {
  const void* const first = count != 0 && devices != nullptr ? devices[0] : nullptr;
  return table_for(first).clCreateContext(properties, count, devices, notify, user_data, error_ret);
}

cl_platform_id platform_in(const cl_context_properties* properties) {
  for (; properties != nullptr && *properties != 0; properties += 2) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): property lists hold handles as integers
    if (*properties == CL_CONTEXT_PLATFORM) return reinterpret_cast<cl_platform_id>(properties[1]);
  }
  return nullptr;
}

cl_context CL_API_CALL create_context_from_type(const cl_context_properties* properties, cl_device_type type,
                                                Notify notify, void* user_data, cl_int* error_ret) {
  const auto create = [&](cl_platform_id platform, cl_int* error) {
    return table_for(platform).clCreateContextFromType(properties, type, notify, user_data, error);
  };
  const cl_platform_id named = platform_in(properties);
  const cl_platform_id platform = named != nullptr ? named : default_platform(type);
  if (named != nullptr || !is_client_handle(platform)) return create(platform, error_ret);
  cl_int error = CL_SUCCESS;
  cl_context context = create(platform, &error);
  // The loss of the server has just been found: the loader chooses, if it can.
  if (error == CL_DEVICE_NOT_AVAILABLE) {
    context = create(nullptr, nullptr);
    if (context != nullptr) error = CL_SUCCESS;
  }
  if (error_ret != nullptr) *error_ret = error;
  return context;
}

cl_int CL_API_CALL unload_platform_compiler(cl_platform_id platform) {
  return table_for(platform).clUnloadPlatformCompiler(platform);
}

void* CL_API_CALL find_function(cl_platform_id platform, const char* name) {
  return table_for(platform).clGetExtensionFunctionAddressForPlatform(platform, name);
}

}  // namespace

bool wants_remote(const base::Settings& settings) {
  return !settings.disable && !settings.remote.servers.empty();
}

std::string remote_library_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&remote_library_path), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::string folder = info.dli_fname;
  // Beside the layer, or one folder above the drop-in.
  for (const char* const from : {"/libcleave-remote.so", "/../libcleave-remote.so"}) {
    std::string path = folder.substr(0, folder.rfind('/')) + from;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

void add_remote_platforms(Table& next, const base::Settings& settings, bool has_loader) noexcept try {
  const std::string path = remote_library_path();
  if (path.empty())
    return base::log_line("CLEAVE_REMOTE: libcleave-remote.so is missing; install Cleave again");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto find = library == nullptr
                        ? nullptr
                        : reinterpret_cast<FindFunction>(dlsym(library, "clGetExtensionFunctionAddress"));
  const auto offer = find == nullptr ? nullptr : reinterpret_cast<OfferPlatforms>(find(kOfferPlatforms));
  if (offer == nullptr) {
    const char* const reason = dlerror();
    return base::log_line("CLEAVE_REMOTE: " + path + " cannot be loaded" +
                          (reason == nullptr ? "" : std::string(": ") + reason));
  }
  if (!has_loader) {
    const Table* table = nullptr;
    offer(0, nullptr, nullptr, &table);
    if (table != nullptr) next = *table;
    return;
  }
  remote.below = next;
  remote.offer = offer;
  remote.required = settings.remote.required;
  remote.first = settings.remote.first;
  next.clGetPlatformIDs = get_platform_ids;
  next.clGetPlatformInfo = get_platform_info;
  next.clGetDeviceIDs = get_device_ids;
  next.clCreateContext = create_context;
  next.clCreateContextFromType = create_context_from_type;
  if (next.clUnloadPlatformCompiler != nullptr) next.clUnloadPlatformCompiler = unload_platform_compiler;
  if (next.clGetExtensionFunctionAddressForPlatform != nullptr) {
    next.clGetExtensionFunctionAddressForPlatform = find_function;
  }
} catch (...) {
  base::log_line("out of memory while adding the remote platforms");
}

}  // namespace cleave::icd
