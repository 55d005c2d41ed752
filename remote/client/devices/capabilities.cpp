#include "remote/client/devices/capabilities.h"

#include <algorithm>

#include "remote/client/devices/supported_extensions.h"
#include "remote/client/link/info_query.h"
#include "remote/protocol/features.h"

namespace cleave::remote::client {
namespace {

InfoCache::Key device_key(cl_uint param) { return info_key(wire::InfoSubject::device, param); }

void put_bytes(InfoCache& infos, cl_uint param, const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  infos.put(device_key(param), {CL_SUCCESS, {bytes, bytes + size}});
}

template <typename T>
void put(InfoCache& infos, cl_uint param, const T& value) {
  put_bytes(infos, param, &value, sizeof value);
}

template <typename T>
void cap(InfoCache& infos, cl_uint param, T limit) {
  if (infos.find(device_key(param)) == nullptr) return;
  put(infos, param, std::min(cached<T>(infos, device_key(param), limit), limit));
}

template <typename T>
void mask_bits(InfoCache& infos, cl_uint param, T kept) {
  const InfoCache::Info* const info = infos.find(device_key(param));
  if (info == nullptr || info->error != CL_SUCCESS) return;
  put(infos, param, static_cast<T>(cached<T>(infos, device_key(param), 0) & kept));
}

void withhold_unsupported(const wire::Welcome& welcome, InfoCache& infos) {
  const std::uint64_t features = welcome.features();
  mask_bits<cl_device_exec_capabilities>(infos, CL_DEVICE_EXECUTION_CAPABILITIES, CL_EXEC_KERNEL);
  mask_bits<cl_device_svm_capabilities>(
      infos, CL_DEVICE_SVM_CAPABILITIES,
      (features & bit(Feature::svm)) != 0 ? CL_DEVICE_SVM_COARSE_GRAIN_BUFFER : 0);
  if ((features & bit(Feature::pipes)) == 0) mask_bits<cl_bool>(infos, CL_DEVICE_PIPE_SUPPORT, 0);
  mask_bits<cl_bool>(infos, CL_DEVICE_HOST_UNIFIED_MEMORY, 0);
  if (const cl_ulong limit = welcome.most_memory(); limit != 0) {
    cap<cl_ulong>(infos, CL_DEVICE_GLOBAL_MEM_SIZE, limit);
    cap<cl_ulong>(infos, CL_DEVICE_MAX_MEM_ALLOC_SIZE, limit);
  }
  const std::string extensions = only_supported(cached_string(infos, device_key(CL_DEVICE_EXTENSIONS)));
  put_bytes(infos, CL_DEVICE_EXTENSIONS, extensions.c_str(), extensions.size() + 1);
  if (infos.find(device_key(CL_DEVICE_EXTENSIONS_WITH_VERSION)) == nullptr) return;
  auto versions = cached_list<cl_name_version>(infos, device_key(CL_DEVICE_EXTENSIONS_WITH_VERSION));
  keep_supported(versions);
  put_bytes(infos, CL_DEVICE_EXTENSIONS_WITH_VERSION, versions.data(), versions.size() * sizeof versions[0]);
}

}  // namespace

void fill_device(DeviceState& state, const wire::Device& device, const wire::Welcome& welcome) {
  InfoCache& infos = state.infos;
  cache_infos(infos, device.infos());
  withhold_unsupported(welcome, infos);
  state.type = cached<cl_device_type>(infos, device_key(CL_DEVICE_TYPE), 0);
  state.max_dimensions = cached_list<std::size_t>(infos, device_key(CL_DEVICE_MAX_WORK_ITEM_SIZES)).size();
  state.max_allocation = cached<cl_ulong>(infos, device_key(CL_DEVICE_MAX_MEM_ALLOC_SIZE), 0);
}

}  // namespace cleave::remote::client
