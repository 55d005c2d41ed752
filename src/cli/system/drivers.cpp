#include "cli/system/drivers.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

#include "base/text/number.h"

namespace cleave::cli {

namespace fs = std::filesystem;

namespace {

// No file can have this path. Loaders that take it for a folder find nothing in it, and ocl-icd, which takes what is no
// folder for a library, finds no library.
constexpr const char* no_drivers = "/dev/null/none";

// Followed by the process's id.
constexpr std::string_view kFolder = "cleave-doctor-";

// Whether it is such a folder, ours, and of a process that has ended, by a signal for instance.
bool is_abandoned(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kFolder)) return false;
  const std::string_view behind = std::string_view(name).substr(kFolder.size());
  const auto owner = base::parse_unsigned(behind.substr(0, behind.find('-')), 1, INT_MAX);
  struct stat status {};
  return owner && ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && ::kill(static_cast<pid_t>(*owner), 0) != 0 && errno == ESRCH;
}

void remove_abandoned_folders() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    if (is_abandoned(entry.path())) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

fs::path driver_folder() {
  const char* named = std::getenv("OCL_ICD_VENDORS");
  return named != nullptr && *named != '\0' ? named : "/etc/OpenCL/vendors";
}

std::vector<fs::path> installed_drivers() {
  std::vector<fs::path> drivers;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(driver_folder(), ignored)) {
    if (entry.path().extension() == ".icd") drivers.push_back(entry.path());
  }
  std::sort(drivers.begin(), drivers.end());
  return drivers;
}

std::string library_named_in(const fs::path& icd_file) {
  std::ifstream file(icd_file);
  std::string line;
  std::getline(file, line);
  line.erase(line.find_last_not_of(" \r") + 1);
  return line;
}

DriverSelection::DriverSelection(const std::vector<fs::path>& drivers) {
  if (drivers.empty()) {
    folder_ = no_drivers;
    return;
  }
  remove_abandoned_folders();
  std::string name =
      (fs::temp_directory_path() / (std::string(kFolder) + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make the folder " + name);
  }
  folder_ = name;
  // A failure shows up in the process: the driver is missing there.
  std::error_code ignored;
  for (const fs::path& driver : drivers)
    fs::create_symlink(fs::absolute(driver), folder_ / driver.filename(), ignored);
}

DriverSelection::~DriverSelection() {
  if (folder_ == no_drivers) return;
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace cleave::cli
