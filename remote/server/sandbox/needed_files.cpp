#include "remote/server/sandbox/needed_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "remote/server/sandbox/bubblewrap.h"

namespace cleave::remote::server {
namespace {

namespace fs = std::filesystem;

// Each is a list of paths, between colons, commas or blanks.
constexpr std::array kPathVariables{"LD_LIBRARY_PATH",   "LD_PRELOAD",         "OCL_ICD_VENDORS",
                                    "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH", "OPENCL_LAYERS",
                                    "OPENCL_LAYER_PATH", "CLEAVE_NEXT",        "CUDA_MPS_PIPE_DIRECTORY",
                                    "CLEAVE_ICD_WRAP"};
// Sockets and folders of drivers' helpers.
constexpr std::array kHelpers{"/run/nvidia-persistenced", "/tmp/nvidia-mps", "/run/udev"};
constexpr const char* kVendors = "/etc/OpenCL/vendors";

void add_paths(std::string_view list, std::vector<std::string>& paths) {
  while (!list.empty()) {
    const std::size_t size = std::min(list.find_first_of(":, "), list.size());
    if (list.starts_with('/')) paths.emplace_back(list.substr(0, size));
    list.remove_prefix(std::min(size + 1, list.size()));
  }
}

void add_library_of(const fs::path& icd, std::vector<std::string>& paths) {
  if (icd.extension() != ".icd") return;
  std::ifstream file(icd);
  std::string library;
  if (std::getline(file, library) && library.starts_with('/')) paths.push_back(library);
}

// A folder with .icd files, one of these, or a library.
void add_libraries_of(const std::string& vendors, std::vector<std::string>& paths) {
  std::error_code error;
  add_library_of(vendors, paths);
  for (const auto& entry : fs::directory_iterator(vendors, error)) {
    paths.push_back(entry.path());
    add_library_of(entry.path(), paths);
  }
}

std::string value_of(const Variables& variables, const char* name) {
  const char* const value = variables(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::vector<std::string> named_files(const Variables& variables) {
  std::vector<std::string> paths(kHelpers.begin(), kHelpers.end());
  for (const char* const name : kPathVariables) add_paths(value_of(variables, name), paths);
  std::vector<std::string> vendors{kVendors};
  for (const char* const name : {"OCL_ICD_VENDORS", "CLEAVE_ICD_WRAP"})
    add_paths(value_of(variables, name), vendors);
  for (const std::string& each : vendors) add_libraries_of(each, paths);
  // monitor, peers, file:PATH
  const std::string neighbours = value_of(variables, "CLEAVE_NEIGHBOURS");
  for (std::size_t at = 0; (at = neighbours.find("file:", at)) != std::string::npos; at += 5) {
    const std::string path = neighbours.substr(at + 5, neighbours.find(',', at) - at - 5);
    if (path.starts_with('/')) paths.push_back(fs::path(path).parent_path());
  }
  const std::string settings = settings_file(variables);
  if (!settings.empty()) paths.push_back(settings);
  return paths;
}

std::string settings_file(const Variables& variables) {
  std::string named = value_of(variables, "CLEAVE_CONFIG");
  if (!named.empty()) return named;
  std::string folder = value_of(variables, "XDG_CONFIG_HOME");
  if (folder.empty()) folder = value_of(variables, "HOME") + "/.config";
  std::string file = folder + "/cleave/cleave.toml";
  std::error_code error;
  return file.starts_with('/') && fs::is_regular_file(file, error) ? file : "";
}

std::vector<std::string> below_hidden(const std::vector<std::string>& paths,
                                      const std::vector<std::string>& hidden) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& path) {
    const auto hides = [&](const std::string& folder) { return path != folder && is_below(path, folder); };
    const bool is_new = std::find(found.begin(), found.end(), path) == found.end();
    if (is_new && std::any_of(hidden.begin(), hidden.end(), hides)) found.push_back(path);
  };
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error) continue;
    std::string normal = fs::path(path).lexically_normal();
    while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
    add(normal);
    add(real);
  }
  return found;
}

std::vector<std::string> visible(const std::vector<std::string>& paths,
                                 const std::vector<std::string>& hidden,
                                 const std::vector<std::string>& readable) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::string real = fs::canonical(path, error);
    const auto is_around = [&](const std::string& folder) { return is_below(real, folder); };
    const bool is_hidden = std::any_of(hidden.begin(), hidden.end(), is_around) &&
                           std::none_of(readable.begin(), readable.end(), is_around);
    if (!error && !is_hidden) found.push_back(real);
  }
  return found;
}

}  // namespace cleave::remote::server
