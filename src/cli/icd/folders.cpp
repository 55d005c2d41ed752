#include "cli/icd/folders.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

#include <sys/stat.h>

#include "cli/system/drivers.h"
#include "cli/system/elf.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIcd = ".icd";
constexpr const char* kTitle = "cleave icd 1";

// Whether the path exists; true for dangling symbolic links, too.
bool entry_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  if (error) throw IcdError(folder.string() + " cannot be read: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// Whether loaders take it for a vendor's file.
bool is_icd(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  return name.ends_with(kIcd) && name.size() > kIcd.size() &&
         fs::symlink_status(folder / name, ignored).type() != fs::file_type::directory;
}

bool read_time(std::istream& stream, const std::string& whose, std::timespec& time) {
  std::string word;
  return stream >> word >> time.tv_sec >> time.tv_nsec && word == whose && stream.get() == '\n';
}

// Empty if writing it was interrupted: each line must be complete.
std::optional<IcdRecord> read_record(const fs::path& file) {
  std::ifstream stream(file);
  std::string title;
  IcdRecord record;
  if (!std::getline(stream, title) || title != kTitle) return std::nullopt;
  if (!read_time(stream, "vendors", record.vendors) || !read_time(stream, "parent", record.parent)) {
    return std::nullopt;
  }
  return record;
}

void survey_wrapped(const fs::path& wrapped, IcdSurvey& found) {
  for (const std::string& name : names_in(wrapped)) {
    if (is_icd(wrapped, name)) {
      found.kept.push_back(name);
    } else if (name == kUnregisteredName) {
      found.has_unregistered = true;
    } else if (name != kRecordName) {
      found.foreign_files.push_back(name);
    }
  }
  found.record = read_record(wrapped / kRecordName);
}

}  // namespace

fs::path below(const fs::path& root, const fs::path& path) {
  return (root / fs::absolute(path).relative_path()).lexically_normal();
}

fs::path registrable(const fs::path& root, const fs::path& library) {
  const fs::path file = below(root, library);
  if (!read_elf(file).facts) {
    throw IcdError(file.string() +
                   " is missing or not a library: install Cleave there, or name the file with --library");
  }
  return fs::absolute(library).lexically_normal();
}

std::string text_of(const IcdRecord& record) {
  std::ostringstream text;
  text << kTitle << '\n'
       << "vendors " << record.vendors.tv_sec << ' ' << record.vendors.tv_nsec << '\n'
       << "parent " << record.parent.tv_sec << ' ' << record.parent.tv_nsec << '\n';
  return text.str();
}

IcdSurvey survey(const IcdPaths& places) {
  IcdSurvey found;
  found.has_vendors = entry_exists(places.vendors);
  if (found.has_vendors) {
    for (const std::string& name : names_in(places.vendors)) {
      if (!is_icd(places.vendors, name)) continue;
      if (name == places.registration().filename()) {
        found.registered = library_named_in(places.registration());
      } else {
        found.drivers.push_back(name);
      }
    }
  }
  found.has_wrapped = entry_exists(places.wrapped);
  if (found.has_wrapped) survey_wrapped(places.wrapped, found);
  found.has_draft = entry_exists(places.draft());
  if (found.has_draft) {
    found.draft = names_in(places.draft());
    found.draft_record = read_record(places.draft() / kRecordName);
  }
  return found;
}

std::timespec time_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    throw IcdError(folder.string() + ": " + std::generic_category().message(errno));
  }
  return status.st_mtim;
}

}  // namespace cleave::cli
