// Called by `cleave remote ls` and `cleave doctor`.
#include "remote/client/library/describe_server.h"

#include <algorithm>
#include <cstring>

#include "base/settings/configuration.h"
#include "remote/client/link/info_query.h"

namespace cleave::remote::client {
namespace {

std::string text_of(const InfoCache& infos, cl_uint param) {
  std::string text = printable(cached_string(infos, info_key(wire::InfoSubject::device, param)));
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

std::string device_line(const wire::Device& device) {
  InfoCache infos;
  cache_infos(infos, device.infos());
  const auto number = [&](cl_uint param) { return info_key(wire::InfoSubject::device, param); };
  return "device\t" + text_of(infos, CL_DEVICE_NAME) + "\t" + text_of(infos, CL_DEVICE_VERSION) + "\t" +
         std::to_string(cached<cl_uint>(infos, number(CL_DEVICE_MAX_COMPUTE_UNITS), 0)) + "\t" +
         std::to_string(cached<cl_ulong>(infos, number(CL_DEVICE_GLOBAL_MEM_SIZE), 0)) + "\n";
}

std::string describe(const std::string& address) {
  const base::Configuration configuration = base::load(base::process_environment());
  std::string problem;
  const base::RemoteSettings& settings = configuration.settings.remote;
  const auto connection =
      Connection::open(address, settings, true, std::chrono::steady_clock::now() + settings.timeout, problem);
  if (connection == nullptr) return "problem\t" + printable(problem) + "\n";
  connection->close();
  const wire::Welcome& welcome = connection->welcome();
  std::string text = "server\t" + printable(welcome.name() == nullptr ? "" : welcome.name()->str()) + "\n" +
                     "answered\t" + std::to_string(connection->round_trip().count()) + "\n";
  if (welcome.load() != nullptr) {
    text += "clients\t" + std::to_string(welcome.load()->clients()) + "\t" +
            std::to_string(welcome.load()->max_clients()) + "\n";
  }
  if (welcome.platforms() == nullptr) return text;
  for (const wire::Platform* const platform : *welcome.platforms()) {
    if (platform->devices() == nullptr) continue;
    for (const wire::Device* const device : *platform->devices()) text += device_line(*device);
  }
  return text;
}

}  // namespace

cl_int CL_API_CALL describe_server(const char* address, size_t size, char* text) try {
  if (address == nullptr || text == nullptr || size == 0) return CL_INVALID_VALUE;
  const std::string description = describe(address);
  if (description.size() >= size) return CL_INVALID_VALUE;
  std::memcpy(text, description.c_str(), description.size() + 1);
  return CL_SUCCESS;
} catch (...) {
  return CL_OUT_OF_HOST_MEMORY;
}

}  // namespace cleave::remote::client
