// The folders that `cleave icd` changes: where they are, and what is in them. Changes nothing.
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cleave::cli {

// Something that `cleave icd` will not do, or cannot; the text says why and what to do.
struct IcdError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct IcdPaths {
  std::filesystem::path vendors;  // where loaders look for .icd files
  std::filesystem::path wrapped;  // where the vendor library looks for them

  // `wrapped` while it is made, and when it is no longer needed.
  std::filesystem::path draft() const { return wrapped.native() + ".new"; }
  std::filesystem::path parent() const { return wrapped.parent_path(); }
  std::filesystem::path registration() const { return vendors / "cleave.icd"; }
};

// The folders' times of change before the first of ours. Kept in `wrapped`, where it also says that this
// folder is of our making.
struct IcdRecord {
  std::timespec vendors{};
  std::timespec parent{};
};
inline constexpr const char* kRecordName = "record";
// cleave.icd before it is registered, and after.
inline constexpr const char* kUnregisteredName = "registration";

std::string text_of(const IcdRecord& record);

struct IcdSurvey {
  bool has_vendors = false;
  std::vector<std::string> drivers;       // the .icd files in `vendors`, but for cleave.icd
  std::optional<std::string> registered;  // the library that cleave.icd names
  bool has_wrapped = false;
  std::vector<std::string> kept;           // the .icd files in `wrapped`
  std::vector<std::string> foreign_files;  // all else in there but ours
  bool has_unregistered = false;           // there is a cleave.icd in `wrapped` that is not registered
  std::optional<IcdRecord> record;
  bool has_draft = false;
  std::vector<std::string> draft;  // what is in there
  std::optional<IcdRecord> draft_record;
};

// Throws IcdError where a folder cannot be read.
IcdSurvey survey(const IcdPaths& places);

// The library that an .icd file names: its first line. Empty where it cannot be read.
std::string library_named_in(const std::filesystem::path& icd_file);

// When the folder was last changed. Throws IcdError where that cannot be read.
std::timespec time_of(const std::filesystem::path& folder);

}  // namespace cleave::cli
