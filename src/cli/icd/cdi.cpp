#include "cli/icd/cdi.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/files/search_list.h"
#include "base/settings/share.h"
#include "base/text/json.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostWeight = 10'000;  // of CLEAVE_WEIGHT

std::string list_of_texts(const std::vector<std::string>& texts) {
  base::JsonList list;
  for (const std::string& text : texts) list.add_json(base::quoted(text));
  return list.text();
}

// At the same path inside.
std::string mount_of(const fs::path& path, const char* access) {
  return base::JsonObject()
      .add("hostPath", path.native())
      .add("containerPath", path.native())
      .add_json("options", list_of_texts({access, "nosuid", "nodev", "bind"}))
      .text();
}

// What all containers with any of the devices get.
std::string edits_of_all(const Installation& cleave, const CdiRequest& request) {
  base::JsonList mounts;
  mounts.add_json(mount_of(cleave.drop_in_folder, "ro"));
  if (cleave.layer.parent_path() != cleave.drop_in_folder) mounts.add_json(mount_of(cleave.layer, "ro"));
  mounts.add_json(mount_of(request.registry, "rw"));
  const std::vector<std::string> variables = {"LD_PRELOAD=" + base::join({cleave.drop_in, cleave.stub}, ':'),
                                              "OPENCL_LAYERS=" + cleave.layer.native(),
                                              "CLEAVE_REGISTRY=" + request.registry.native()};
  return base::JsonObject()
      .add_json("env", list_of_texts(variables))
      .add_json("mounts", mounts.text())
      .text();
}

std::string device_of(unsigned shards, const CdiRequest& request) {
  const unsigned each = std::max(1U, std::min(100U, kMostWeight / request.shards));
  std::vector<std::string> variables = {"CLEAVE_WEIGHT=" +
                                        std::to_string(std::min(kMostWeight, shards * each))};
  if (!request.memory.empty()) {
    const std::uint64_t bytes = base::parse_size(request.memory).value_or(0);
    variables.push_back("CLEAVE_MEMORY_LIMIT=" + std::to_string(bytes / request.shards * shards));
  }
  const std::string edits = base::JsonObject().add_json("env", list_of_texts(variables)).text();
  return base::JsonObject().add("name", std::to_string(shards)).add_json("containerEdits", edits).text();
}

}  // namespace

int icd_cdi(const CdiRequest& request) {
  const Installation cleave = find_installation();
  if (const auto missing = cleave.missing(); !missing.empty()) {
    std::fprintf(stderr, "cleave: the installation is broken: %s is missing; install Cleave again\n",
                 missing.front().c_str());
    return 1;
  }
  base::JsonList devices;
  for (unsigned shards = 1; shards <= request.shards; ++shards) devices.add_json(device_of(shards, request));
  const std::string file = base::JsonObject()
                               .add("cdiVersion", "0.5.0")
                               .add("kind", request.kind)
                               .add_json("containerEdits", edits_of_all(cleave, request))
                               .add_json("devices", devices.text())
                               .text();
  std::puts(file.c_str());
  return 0;
}

}  // namespace cleave::cli
