// The OpenCL drivers that are installed, and ways to leave some of them out.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cleave::cli {

// Where loaders look for drivers: the folder (or file) that OCL_ICD_VENDORS names, or the system's.
std::filesystem::path driver_folder();

// The .icd files in that place, in order. Empty where it is no folder.
std::vector<std::filesystem::path> installed_drivers();

// A temporary folder with the chosen drivers, for a process that should see no others.
class DriverSelection {
 public:
  explicit DriverSelection(const std::vector<std::filesystem::path>& drivers);
  ~DriverSelection();
  DriverSelection(const DriverSelection&) = delete;
  DriverSelection& operator=(const DriverSelection&) = delete;

  // The variable, and its value, that makes the loader look there.
  std::pair<std::string, std::string> variable() const { return {"OCL_ICD_VENDORS", folder_.string()}; }

 private:
  std::filesystem::path folder_;
};

}  // namespace cleave::cli
