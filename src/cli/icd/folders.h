// The folders that `cleave icd` changes, and their content. Changes nothing.
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cleave::cli {

// A refusal or failure; the text says why, and what to do.
struct IcdError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct IcdPaths {
  std::filesystem::path vendors;  // where loaders search for .icd files
  std::filesystem::path wrapped;  // where the vendor library searches for them

  // The name of `wrapped` while it is created and while it is removed.
  std::filesystem::path draft() const { return wrapped.native() + ".new"; }
  std::filesystem::path parent() const { return wrapped.parent_path(); }
  std::filesystem::path registration() const { return vendors / "cleave.icd"; }
};

// The folders' modification times before the first change. Kept in `wrapped`, where its presence also shows that `cleave icd`
// created the folder.
struct IcdRecord {
  std::timespec vendors{};
  std::timespec parent{};
};
inline constexpr const char* kRecordName = "record";
// The name of cleave.icd while it is not registered.
inline constexpr const char* kUnregisteredName = "registration";

std::string text_of(const IcdRecord& record);

// The path in the root of another system.
std::filesystem::path below(const std::filesystem::path& root, const std::filesystem::path& path);

// The path, as seen by programs in the root, of a library to register. Throws IcdError if none is there.
std::filesystem::path registrable(const std::filesystem::path& root, const std::filesystem::path& library);

struct IcdSurvey {
  bool has_vendors = false;
  std::vector<std::string> drivers;       // the .icd files in `vendors`, except cleave.icd
  std::optional<std::string> registered;  // the library that cleave.icd names
  bool has_wrapped = false;
  std::vector<std::string> kept;           // the .icd files in `wrapped`
  std::vector<std::string> foreign_files;  // other files there that are not ours
  bool has_unregistered = false;           // `wrapped` holds a cleave.icd that is not registered
  std::optional<IcdRecord> record;
  bool has_draft = false;
  std::vector<std::string> draft;  // its content
  std::optional<IcdRecord> draft_record;
};

// Throws IcdError if a folder cannot be read.
IcdSurvey survey(const IcdPaths& places);

// The folder's modification time. Throws IcdError if it cannot be read.
std::timespec time_of(const std::filesystem::path& folder);

}  // namespace cleave::cli
