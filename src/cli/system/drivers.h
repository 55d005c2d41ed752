// The installed OpenCL drivers, as registered by .icd files.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cleave::cli {

// Where loaders search for drivers: the folder (or file) named by OCL_ICD_VENDORS, or the system's.
std::filesystem::path driver_folder();

// The .icd files in driver_folder(), sorted. Empty if it is not a folder.
std::vector<std::filesystem::path> installed_drivers();

// The library that an .icd file names in its first line. Empty if it cannot be read.
std::string library_named_in(const std::filesystem::path& icd_file);

// A temporary folder with the chosen drivers, for a process that should see no others. Where none is chosen there is no
// folder, so that nothing is left behind if a signal ends `cleave`.
class DriverSelection {
 public:
  explicit DriverSelection(const std::vector<std::filesystem::path>& drivers);
  ~DriverSelection();
  DriverSelection(const DriverSelection&) = delete;
  DriverSelection& operator=(const DriverSelection&) = delete;

  // The environment variable, with its value, that makes loaders use the folder, or find no driver.
  std::pair<std::string, std::string> variable() const { return {"OCL_ICD_VENDORS", folder_.string()}; }

 private:
  std::filesystem::path folder_;
};

}  // namespace cleave::cli
