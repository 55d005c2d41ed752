// The platform: one, with the devices of all servers. What it says of itself is what all of them can.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/remote_platform.h"
#include "remote/client/api/api.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/devices/supported_extensions.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

InfoCache::Key platform_key(cl_uint param) { return info_key(wire::InfoSubject::platform, param); }

std::string without_icd_suffix(std::string name) {
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

// Keeps of `texts` what the platform that comes second can, too.
void merge_platform_info(const InfoCache& infos, unsigned before) {
  auto& texts = client.platform_texts;
  const auto text = [&](cl_uint param) { return cached_string(infos, platform_key(param)); };
  const auto version = cached<cl_version>(infos, platform_key(CL_PLATFORM_NUMERIC_VERSION), 0);
  auto extensions = cached_list<cl_name_version>(infos, platform_key(CL_PLATFORM_EXTENSIONS_WITH_VERSION));
  keep_supported(extensions);
  if (before == 0) {
    texts[CL_PLATFORM_NAME] =
        without_icd_suffix(text(CL_PLATFORM_NAME)) + std::string(base::kRemotePlatformSuffix);
    texts[CL_PLATFORM_VERSION] = text(CL_PLATFORM_VERSION);
    texts[CL_PLATFORM_PROFILE] = text(CL_PLATFORM_PROFILE);
    texts[CL_PLATFORM_VENDOR] = text(CL_PLATFORM_VENDOR);
    texts[CL_PLATFORM_EXTENSIONS] = only_supported(text(CL_PLATFORM_EXTENSIONS));
    client.platform_extensions = extensions;
    client.platform_version = version;
    client.timer_resolution = cached<cl_ulong>(infos, platform_key(CL_PLATFORM_HOST_TIMER_RESOLUTION), 0);
    return;
  }
  texts[CL_PLATFORM_NAME] = "Cleave" + std::string(base::kRemotePlatformSuffix);
  texts[CL_PLATFORM_VENDOR] = "Cleave";
  // "OpenCL 1.2 ...": the texts sort as the versions do.
  texts[CL_PLATFORM_VERSION] = std::min(texts[CL_PLATFORM_VERSION], text(CL_PLATFORM_VERSION));
  const std::string others = " " + text(CL_PLATFORM_EXTENSIONS) + " ";
  std::string both;
  std::string_view left = texts[CL_PLATFORM_EXTENSIONS];
  while (!left.empty()) {
    const std::string name(left.substr(0, left.find(' ')));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    if (others.find(" " + name + " ") != std::string::npos) both.append(both.empty() ? "" : " ").append(name);
  }
  texts[CL_PLATFORM_EXTENSIONS] = both;
  std::erase_if(client.platform_extensions, [&](const cl_name_version& one) {
    return std::none_of(extensions.begin(), extensions.end(), [&](const cl_name_version& other) {
      return std::string_view(one.name) == other.name;
    });
  });
  client.platform_version = std::min(client.platform_version, version);
  if (cached<cl_ulong>(infos, platform_key(CL_PLATFORM_HOST_TIMER_RESOLUTION), 0) == 0)
    client.timer_resolution = 0;
}

void add_devices(std::size_t server, unsigned group, Connection& connection, const wire::Platform& of) {
  if (of.devices() == nullptr) return;
  for (const wire::Device* const device : *of.devices()) {
    auto state = std::make_unique<DeviceState>(connection, device->id());
    static_cast<ObjectState&>(*state).connection = nullptr;
    state->server = server;
    state->group = group;
    state->platform = of.id();
    fill_device(*state, *device, connection.welcome());
    Object* const object = client.objects.make_root(Kind::device, static_cast<ObjectState*>(state.get()),
                                                    static_cast<std::uint16_t>(server), nullptr);
    if (object == nullptr) return;
    static_cast<void>(state.release());
    client.devices.push_back(object);
  }
}

// What a change of would make the program's knowledge of the device wrong.
constexpr std::array<cl_uint, 4> kIdentityParams{CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION,
                                                 CL_DRIVER_VERSION};

bool is_same(const DeviceState& device, const wire::Device& only_supported) {
  InfoCache infos;
  cache_infos(infos, only_supported.infos());
  return device.id == only_supported.id() &&
         std::all_of(kIdentityParams.begin(), kIdentityParams.end(), [&](cl_uint param) {
           const InfoCache::Key key = info_key(wire::InfoSubject::device, param);
           return cached_string(device.infos, key) == cached_string(infos, key);
         });
}

}  // namespace

bool has_same_devices(std::size_t server, const wire::Welcome& welcome) {
  std::vector<const DeviceState*> cached;
  for (const Object* const device : client.devices) {
    const DeviceState& state = state_of<DeviceState>(*device);
    if (state.server == server) cached.push_back(&state);
  }
  std::size_t next = 0;
  if (welcome.platforms() == nullptr) return false;
  for (const wire::Platform* const platform : *welcome.platforms()) {
    if (platform->devices() == nullptr) continue;
    for (const wire::Device* const device : *platform->devices()) {
      if (next == cached.size() || !is_same(*cached[next], *device)) return false;
      ++next;
    }
  }
  return next == cached.size();
}

void make_platform() {
  unsigned groups = 0;
  for (std::size_t i = 0; i < client.servers.count(); ++i) {
    const std::shared_ptr<Connection> connection = client.servers.current(i);
    if (connection == nullptr || connection->welcome().platforms() == nullptr) continue;
    for (const wire::Platform* const platform : *connection->welcome().platforms()) {
      if (platform->devices() == nullptr || platform->devices()->size() == 0) continue;
      InfoCache infos;
      cache_infos(infos, platform->infos());
      merge_platform_info(infos, groups);
      add_devices(i, groups, *connection, *platform);
      ++groups;
    }
  }
  if (client.devices.empty()) return;
  // No driver's handle is behind it; its own address says that there is something.
  client.platform = client.objects.make_root(Kind::platform, &client, 0, nullptr);
}

cl_int CL_API_CALL clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  begin();
  if ((entries == 0) == (platforms != nullptr) || (platforms == nullptr && count == nullptr))
    return CL_INVALID_VALUE;
  if (count != nullptr) *count = client.platform != nullptr ? 1 : 0;
  if (client.platform == nullptr) return -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  if (platforms != nullptr) platforms[0] = objects::handle_of<cl_platform_id>(client.platform);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id handle, cl_platform_info name, size_t size, void* value,
                                     size_t* size_ret) {
  constexpr cl_uint kSuffix = 0x0920;  // CL_PLATFORM_ICD_SUFFIX_KHR
  if (handle == nullptr) begin();
  if (handle == nullptr ? client.platform == nullptr : find(handle) == nullptr) return CL_INVALID_PLATFORM;
  const InfoOutput output{size, value, size_ret};
  const auto text = client.platform_texts.find(name);
  if (text != client.platform_texts.end()) return output.write_string(text->second);
  switch (name) {
    case kSuffix:
      return output.write_string("CLEAVE");
    case CL_PLATFORM_NUMERIC_VERSION:
      return client.platform_version == 0 ? CL_INVALID_VALUE : output.write(client.platform_version);
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
      return client.platform_version == 0 ? CL_INVALID_VALUE : output.write_list(client.platform_extensions);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
      return client.platform_texts[CL_PLATFORM_VERSION] < "OpenCL 2.1"
                 ? CL_INVALID_VALUE
                 : output.write(client.timer_resolution);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id handle, void* data) {
  Object* const platform = find(handle);
  if (platform == nullptr) return CL_INVALID_PLATFORM;
  platform->dispatch_data = data;
  for (Object* const device : client.devices) device->dispatch_data = data;
  return CL_SUCCESS;
}

// Compilers are the servers' own.
cl_int CL_API_CALL clUnloadCompiler() { return CL_SUCCESS; }
cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id handle) {
  return find(handle) == nullptr ? CL_INVALID_PLATFORM : CL_SUCCESS;
}

}  // namespace cleave::remote::client
