#include "remote/client/devices/catalog.h"

#include <algorithm>
#include <array>

#include "remote/client/devices/capabilities.h"
#include "remote/client/devices/supported_extensions.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

constexpr std::string_view kNameSuffix = " (remote)";

InfoCache::Key platform_key(cl_uint param) { return info_key(wire::InfoSubject::platform, param); }

std::string without_trailing_blanks(std::string name) {
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

std::string presented(const std::string& name) {
  return catalog.original_name ? name : without_trailing_blanks(name) + std::string(kNameSuffix);
}

// Takes over the first platform's information, and reduces it to what each further platform has as well.
void merge_platform_info(const InfoCache& infos, unsigned before) {
  auto& texts = catalog.platform_texts;
  const auto text = [&](cl_uint param) { return cached_string(infos, platform_key(param)); };
  const auto version = cached<cl_version>(infos, platform_key(CL_PLATFORM_NUMERIC_VERSION), 0);
  auto extensions = cached_list<cl_name_version>(infos, platform_key(CL_PLATFORM_EXTENSIONS_WITH_VERSION));
  keep_supported(extensions);
  if (before == 0) {
    texts[CL_PLATFORM_NAME] = presented(text(CL_PLATFORM_NAME));
    texts[CL_PLATFORM_VERSION] = text(CL_PLATFORM_VERSION);
    texts[CL_PLATFORM_PROFILE] = text(CL_PLATFORM_PROFILE);
    texts[CL_PLATFORM_VENDOR] = text(CL_PLATFORM_VENDOR);
    texts[CL_PLATFORM_EXTENSIONS] = only_supported(text(CL_PLATFORM_EXTENSIONS));
    catalog.platform_extensions = extensions;
    catalog.platform_version = version;
    catalog.timer_resolution = cached<cl_ulong>(infos, platform_key(CL_PLATFORM_HOST_TIMER_RESOLUTION), 0);
    return;
  }
  // Several platforms of one kind may keep their name; what they are together has one of Cleave's.
  const bool is_same_kind = catalog.original_name && texts[CL_PLATFORM_NAME] == text(CL_PLATFORM_NAME) &&
                            texts[CL_PLATFORM_VENDOR] == text(CL_PLATFORM_VENDOR);
  if (!is_same_kind) {
    texts[CL_PLATFORM_NAME] = "Cleave" + std::string(kNameSuffix);
    texts[CL_PLATFORM_VENDOR] = "Cleave";
  }
  // "OpenCL 1.2 ...": the strings sort as the versions do.
  texts[CL_PLATFORM_VERSION] = std::min(texts[CL_PLATFORM_VERSION], text(CL_PLATFORM_VERSION));
  const std::string others = " " + text(CL_PLATFORM_EXTENSIONS) + " ";
  texts[CL_PLATFORM_EXTENSIONS] = kept_names(texts[CL_PLATFORM_EXTENSIONS], [&](std::string_view name) {
    return others.find(" " + std::string(name) + " ") != std::string::npos;
  });
  std::erase_if(catalog.platform_extensions, [&](const cl_name_version& one) {
    return std::none_of(extensions.begin(), extensions.end(), [&](const cl_name_version& other) {
      return std::string_view(one.name) == other.name;
    });
  });
  catalog.platform_version = std::min(catalog.platform_version, version);
  if (cached<cl_ulong>(infos, platform_key(CL_PLATFORM_HOST_TIMER_RESOLUTION), 0) == 0)
    catalog.timer_resolution = 0;
}

void add_devices(std::size_t server, unsigned group, Connection& connection, const wire::Platform& platform) {
  if (platform.devices() == nullptr) return;
  for (const wire::Device* const device : *platform.devices()) {
    auto state = std::make_unique<DeviceState>(connection, device->id());
    static_cast<ObjectState&>(*state).connection = nullptr;
    state->server = server;
    state->group = group;
    fill_device(*state, *device, connection.welcome());
    Object* const object = client.objects.make_root(Kind::device, static_cast<ObjectState*>(state.get()),
                                                    static_cast<std::uint16_t>(server), nullptr);
    if (object == nullptr) return;
    static_cast<void>(state.release());
    catalog.devices.push_back(object);
  }
}

// Parameters by which a device is recognized: if one of them changes, what the program knows of the device is wrong.
constexpr std::array<cl_uint, 4> kIdentityParams{CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION,
                                                 CL_DRIVER_VERSION};

bool is_same(const DeviceState& device, const wire::Device& offered) {
  InfoCache infos;
  cache_infos(infos, offered.infos());
  return device.id == offered.id() &&
         std::all_of(kIdentityParams.begin(), kIdentityParams.end(), [&](cl_uint param) {
           const InfoCache::Key key = info_key(wire::InfoSubject::device, param);
           return cached_string(device.infos, key) == cached_string(infos, key);
         });
}

constexpr cl_device_type kKinds =
    CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;

bool is_of_type(const DeviceState& device, cl_device_type wanted, bool is_first) {
  // Some programs keep the type in an int, which extends its sign.
  if ((wanted & CL_DEVICE_TYPE_ALL) == CL_DEVICE_TYPE_ALL) return (device.type & CL_DEVICE_TYPE_CUSTOM) == 0;
  if ((wanted & CL_DEVICE_TYPE_DEFAULT) != 0 && is_first) return true;
  return (device.type & wanted & ~static_cast<cl_device_type>(CL_DEVICE_TYPE_DEFAULT)) != 0;
}

// kConnectionLost: it cannot be queried.
cl_int ask_driver(cl_device_type type, std::vector<Object*>& found) {
  std::array<std::uint8_t, sizeof type> input{};
  std::memcpy(input.data(), &type, sizeof type);
  std::vector<std::byte> ids;
  const DeviceState& any = state_of<DeviceState>(*catalog.devices.front());
  const cl_int error = call_device(any, [&](Connection& connection) {
    if (!connection.supports(Feature::judgements)) return kConnectionLost;
    return query_server(
        connection,
        {.what = wire::InfoSubject::devices_of_type, .object = catalog.only_platform, .input = input}, ids);
  });
  if (error != CL_SUCCESS) return error;
  for (Object* const device : catalog.devices) {
    const Id id = state_of<DeviceState>(*device).id;
    for (std::size_t at = 0; at + sizeof id <= ids.size(); at += sizeof id) {
      if (std::memcmp(&id, ids.data() + at, sizeof id) != 0) continue;
      found.push_back(device);
      break;
    }
  }
  return found.empty() ? CL_DEVICE_NOT_FOUND : CL_SUCCESS;  // callers rely on a first device
}

}  // namespace

bool has_same_devices(std::size_t server, const wire::Welcome& welcome) {
  std::vector<const DeviceState*> known;
  for (const Object* const device : catalog.devices) {
    const DeviceState& state = state_of<DeviceState>(*device);
    if (state.server == server) known.push_back(&state);
  }
  std::size_t next = 0;
  if (welcome.platforms() == nullptr) return false;
  for (const wire::Platform* const platform : *welcome.platforms()) {
    if (platform->devices() == nullptr) continue;
    for (const wire::Device* const device : *platform->devices()) {
      if (next == known.size() || !is_same(*known[next], *device)) return false;
      ++next;
    }
  }
  return next == known.size();
}

void make_platform() {
  unsigned groups = 0;
  for (std::size_t i = 0; i < catalog.servers.count(); ++i) {
    const std::shared_ptr<Connection> connection = catalog.servers.current(i);
    if (connection == nullptr || connection->welcome().platforms() == nullptr) continue;
    for (const wire::Platform* const platform : *connection->welcome().platforms()) {
      if (platform->devices() == nullptr || platform->devices()->size() == 0) continue;
      InfoCache infos;
      cache_infos(infos, platform->infos());
      merge_platform_info(infos, groups);
      add_devices(i, groups, *connection, *platform);
      catalog.only_platform = groups == 0 ? platform->id() : 0;
      ++groups;
    }
  }
  if (catalog.devices.empty()) return;
  // It has no state; any non-null address will do.
  catalog.platform = client.objects.make_root(Kind::platform, &catalog, 0, nullptr);
}

std::vector<Object*> devices_of_type(cl_device_type type) {
  std::vector<Object*> found;
  for (Object* const device : catalog.devices) {
    if (is_of_type(state_of<DeviceState>(*device), type, device == catalog.devices.front()))
      found.push_back(device);
  }
  return found;
}

cl_int find_devices(cl_device_type type, std::vector<Object*>& found) {
  const bool is_named =
      type == CL_DEVICE_TYPE_ALL || type == CL_DEVICE_TYPE_DEFAULT || (type != 0 && (type & ~kKinds) == 0);
  if (!is_named && catalog.only_platform != 0) {
    const cl_int error = ask_driver(type, found);
    if (error != kConnectionLost) return error;
  }
  found = devices_of_type(type);
  if (!found.empty()) return CL_SUCCESS;
  return (type & (kKinds | CL_DEVICE_TYPE_DEFAULT)) != 0 ? CL_DEVICE_NOT_FOUND : CL_INVALID_DEVICE_TYPE;
}

Time default_deadline() { return std::chrono::steady_clock::now() + catalog.servers.timeout(); }

std::shared_ptr<Connection> live_connection(const DeviceState& device, Time until) {
  if (device.connection_ref == nullptr) return catalog.servers.live_connection(device.server, until);
  return device.connection_ref->alive() ? device.connection_ref : nullptr;
}

}  // namespace cleave::remote::client
