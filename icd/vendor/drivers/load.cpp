#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <memory>
#include <string_view>

#include <sys/stat.h>

#include "base/files/own_descriptors.h"
#include "base/files/regular_file.h"
#include "base/settings/settings.h"
#include "icd/elf_note.h"
#include "icd/vendor/drivers/driver.h"

namespace cleave::vendor::drivers {
namespace {

using GetPlatforms = cl_int(CL_API_CALL*)(cl_uint, cl_platform_id*, cl_uint*);
using FindForPlatform = void*(CL_API_CALL*)(cl_platform_id, const char*);
using SetDispatchData = cl_int(CL_API_CALL*)(cl_platform_id, void*);

constexpr std::string_view kIcd = ".icd";

template <typename Function>
Function find_function(FindFunction find, void* library, const char* name) {
  void* const found = find(name);
  return reinterpret_cast<Function>(found != nullptr ? found : dlsym(library, name));
}

using Problems = std::vector<std::string>;

// Only the first line of an .icd file counts, as for loaders. Empty if there is a problem.
std::string library_in(const std::string& path, Problems& problems) {
  constexpr std::size_t kMaxSize = 64 << 10;
  const base::FileText file = base::read_regular_file(path, kMaxSize);
  if (!file.text) {
    problems.push_back(path + " " + file.problem + ": name an .icd file that can be read");
    return {};
  }
  std::string line = file.text->substr(0, file.text->find('\n'));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (line.empty()) problems.push_back(path + " names no library in its first line: write a driver's there");
  return line;
}

// `is_default`: no setting names the folder, which need not exist.
std::vector<std::string> icd_files_in(const std::string& folder, bool is_default, Problems& problems) {
  std::vector<std::string> files;
  const base::FolderList directory = base::open_folder_list(AT_FDCWD, folder.c_str());
  if (!directory) {
    problems.push_back("the folder " + folder + " cannot be read (" + std::strerror(errno) +
                       "): let its users read it, or name another");
    return files;
  }
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(kIcd) && name.size() > kIcd.size()) files.push_back(folder + "/" + entry->d_name);
  }
  std::sort(files.begin(), files.end());
  if (files.empty() && !is_default)
    problems.push_back("the folder " + folder + " has no .icd files: name one that has, or a driver");
  return files;
}

// The libraries that `path` names.
std::vector<std::string> libraries_of(const std::string& path, Problems& problems) {
  const std::vector<std::string> defaults = base::Settings{}.wrap;
  const bool is_default = std::find(defaults.begin(), defaults.end(), path) != defaults.end();
  if (path.find('/') == std::string::npos) return {path};  // the dynamic linker searches for it
  struct stat status {};
  const bool there = stat(path.c_str(), &status) == 0;
  const int error = there ? 0 : errno;
  std::vector<std::string> files;
  if (there && S_ISDIR(status.st_mode)) {
    files = icd_files_in(path, is_default, problems);
  } else if (there && path.ends_with(kIcd)) {
    files = {path};
  } else if (there) {
    return {path};
  } else {
    if (!is_default || error != ENOENT) {
      problems.push_back(path + " cannot be found (" + std::strerror(error) +
                         "): name a driver's library, an .icd file or a folder of .icd files");
    }
    return {};
  }
  for (std::string& file : files) file = library_in(file, problems);
  std::erase(files, "");
  return files;
}

// A loader would load us again; a call into it while it loads us would deadlock.
bool is_loader(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return false;
  const std::string_view path = map->l_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libOpenCL.so") || dlsym(library, "clGetICDLoaderInfoOCLICD") != nullptr;
}

// Creates the dispatch table of a driver of cl_khr_icd 2. False if the driver lacks that extension's functions.
bool install_dispatch_table(cl_platform_id platform, FindFunction find, void* library) {
  const auto find_for_platform =
      find_function<FindForPlatform>(find, library, "clIcdGetFunctionAddressForPlatformKHR");
  const auto set_data = find_function<SetDispatchData>(find, library, "clIcdSetPlatformDispatchDataKHR");
  if (find_for_platform == nullptr || set_data == nullptr) return false;
  auto table = std::make_unique<Table>();
#define CL_FUNCTION(version, name, ...) \
  table->name = reinterpret_cast<decltype(Table::name)>(find_for_platform(platform, #name));
#include "opencl/functions.def"
#undef CL_FUNCTION
  return set_data(platform, table.release()) == CL_SUCCESS;  // never freed: the driver's objects point to it
}

const Table* dispatch_of(cl_platform_id platform) {
  return reinterpret_cast<const ObjectHeader*>(platform)->dispatch;
}

void add_platforms(void* library, FindFunction find, std::vector<Driver>& drivers) {
  const auto get_platforms = find_function<GetPlatforms>(find, library, "clIcdGetPlatformIDsKHR");
  cl_uint count = 0;
  if (get_platforms == nullptr || get_platforms(0, nullptr, &count) != CL_SUCCESS || count == 0) return;
  std::vector<cl_platform_id> platforms(count);
  if (get_platforms(count, platforms.data(), nullptr) != CL_SUCCESS) return;
  for (cl_platform_id const platform : platforms) {
    if (platform == nullptr || dispatch_of(platform) == nullptr || drivers.size() == kMaxPlatforms) continue;
    if (is_icd2_table(*dispatch_of(platform)) && !install_dispatch_table(platform, find, library)) continue;
    const bool known = std::any_of(drivers.begin(), drivers.end(),
                                   [&](const Driver& driver) { return driver.platform == platform; });
    if (!known) drivers.push_back({platform, find});
  }
}

void add_library(const std::string& path, std::vector<Driver>& drivers, std::vector<std::string>& problems) {
  // The dynamic linker would wait forever for the writer of a pipe. It searches for a name without a slash.
  const std::string wrong =
      path.find('/') != std::string::npos ? base::irregularity_of(path, SIZE_MAX / 2) : "";
  if (!wrong.empty()) {
    problems.push_back(path + " " + wrong + ": name an OpenCL driver");
    return;
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    problems.push_back(path + " cannot be loaded (" + (reason == nullptr ? "no reason given" : reason) +
                       "): name an OpenCL driver");
    return;
  }
  const auto find = reinterpret_cast<FindFunction>(dlsym(library, "clGetExtensionFunctionAddress"));
  if (find == nullptr) {
    problems.push_back(path + " is no OpenCL driver: it has no clGetExtensionFunctionAddress");
  } else if (icd::is_cleave_library(reinterpret_cast<const void*>(find)) || is_loader(library)) {
    problems.push_back(path + " is Cleave or an OpenCL loader, which cannot be wrapped: name a driver");
  } else {
    add_platforms(library, find, drivers);
  }
}

}  // namespace

std::vector<Driver> load(const std::vector<std::string>& paths, std::vector<std::string>& problems) {
  std::vector<Driver> drivers;
  for (const std::string& path : paths) {
    for (const std::string& library : libraries_of(path, problems)) add_library(library, drivers, problems);
  }
  return drivers;
}

}  // namespace cleave::vendor::drivers
