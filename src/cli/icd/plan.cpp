#include "cli/icd/plan.h"

#include <algorithm>
#include <system_error>

#include <sys/stat.h>

#include "cli/system/drivers.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct stat status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw IcdError(path.string() + ": " + std::generic_category().message(errno));
  }
  return status;
}

// A relative symbolic link points elsewhere after a move, unless its target moves along.
void check_link(const fs::path& from, const fs::path& to, const std::string& name, const Names& moved) {
  std::error_code error;
  const fs::path target = fs::read_symlink(from / name, error);
  if (error || target.is_absolute()) return;
  if (!target.has_parent_path() && has(moved, target)) return;
  // `to` may not exist yet.
  const fs::path target_then = (fs::weakly_canonical(to, error) / target).lexically_normal();
  if (fs::weakly_canonical(from / target, error) == fs::weakly_canonical(target_then, error)) return;
  throw IcdError((from / name).string() + " is a symbolic link that would point elsewhere from " +
                 to.string() + ": make it absolute");
}

void check_moves(const fs::path& from, const fs::path& to, const Names& moved, const Names& there) {
  for (const std::string& name : moved) {
    if (has(there, name)) {
      throw IcdError(name + " is both in " + from.string() + " and in " + to.string() +
                     ": move one of them elsewhere");
    }
    check_link(from, to, name, moved);
  }
}

void add_moves(const fs::path& from, const fs::path& to, const Names& names, IcdSteps& steps) {
  for (const std::string& name : names) steps.push_back(move(from / name, to / name));
}

// Removes the draft of an interrupted command.
void remove_draft(const IcdPaths& places, const IcdSurvey& found, IcdSteps& steps) {
  for (const std::string& name : found.draft) {
    if (name != kRecordName && name != kUnregisteredName) {
      throw IcdError(places.draft().string() + " is in the way: move it elsewhere");
    }
  }
  // The record last, since it holds the times.
  if (has(found.draft, kUnregisteredName)) steps.push_back(remove_file(places.draft() / kUnregisteredName));
  if (has(found.draft, kRecordName)) steps.push_back(remove_file(places.draft() / kRecordName));
  steps.push_back(remove_folder(places.draft()));
}

// --- install

void check_new(const IcdPaths& places, const IcdSurvey& found) {
  if (found.registered) {
    throw IcdError(places.registration().string() +
                   " exists, but not from `cleave icd install`: move it away, and the drivers in " +
                   places.wrapped.string() + " back to " + places.vendors.string());
  }
  if (found.has_wrapped) {
    throw IcdError(places.wrapped.string() +
                   " exists, but not from `cleave icd install`: move the drivers in it back to " +
                   places.vendors.string() + " and remove it");
  }
  if (found.drivers.empty()) {
    throw IcdError("there is no driver to wrap in " + places.vendors.string() + ": install one first");
  }
}

void check_installable(const IcdPaths& places, const IcdSurvey& found) {
  if (!found.has_vendors) {
    throw IcdError("there is no folder " + places.vendors.string() +
                   ": install an OpenCL driver first, or name the folder with --vendors");
  }
  for (const std::string& name : found.drivers) {
    if (fs::path(library_named_in(places.vendors / name)).filename() == "libcleave-icd.so") {
      throw IcdError((places.vendors / name).string() + " registers Cleave already: remove it");
    }
  }
  if (status_of(places.vendors).st_dev != status_of(places.parent()).st_dev) {
    throw IcdError(places.vendors.string() + " and " + places.parent().string() +
                   " are on different file systems: name a folder on the first with --wrapped");
  }
  check_moves(places.vendors, places.wrapped, found.drivers, found.kept);
}

void begin(const IcdPaths& places, const IcdSurvey& found, const std::string& library, IcdSteps& steps) {
  IcdRecord record{time_of(places.vendors), time_of(places.parent())};
  if (found.draft_record) record.parent = found.draft_record->parent;
  if (found.has_draft) remove_draft(places, found, steps);
  steps.push_back(make_folder(places.draft(), status_of(places.vendors).st_mode & 0777));
  steps.push_back(write_file(places.draft() / kRecordName, text_of(record)));
  steps.push_back(write_file(places.draft() / kUnregisteredName, library + "\n"));
  steps.push_back(move(places.draft(), places.wrapped));
}

// --- uninstall

void check_uninstallable(const IcdPaths& places, const IcdSurvey& found) {
  if (!found.has_vendors) {
    throw IcdError("the folder " + places.vendors.string() + " is missing: create it again");
  }
  if (!found.foreign_files.empty()) {
    throw IcdError((places.wrapped / found.foreign_files.front()).string() +
                   " is not a driver and not Cleave's: move it elsewhere");
  }
  check_moves(places.wrapped, places.vendors, found.kept, found.drivers);
}

void check_by_hand(const IcdPaths& places, const IcdSurvey& found) {
  if (!found.registered && found.kept.empty()) return;
  throw IcdError("what is in " + places.vendors.string() + " and " + places.wrapped.string() +
                 " is not from `cleave icd install`: move cleave.icd away, and the drivers back, by hand");
}

}  // namespace

IcdSteps plan_install(const IcdPaths& places, const std::string& library) {
  const IcdSurvey found = survey(places);
  IcdSteps steps;
  check_installable(places, found);
  if (found.record) {
    if (found.has_draft) remove_draft(places, found, steps);
    if (found.registered != library) {
      steps.push_back(write_file(places.wrapped / kUnregisteredName, library + "\n"));
    }
  } else {
    check_new(places, found);
    begin(places, found, library, steps);
  }
  if (found.registered != library) {
    steps.push_back(move_over(places.wrapped / kUnregisteredName, places.registration()));
  } else if (found.has_unregistered) {
    steps.push_back(remove_file(places.wrapped / kUnregisteredName));
  }
  add_moves(places.vendors, places.wrapped, found.drivers, steps);
  return steps;
}

IcdSteps plan_uninstall(const IcdPaths& places) {
  const IcdSurvey found = survey(places);
  IcdSteps steps;
  if (!found.record) {
    check_by_hand(places, found);
    if (!found.has_draft) return {};
    remove_draft(places, found, steps);
    if (found.draft_record) steps.push_back(set_time(places.parent(), found.draft_record->parent));
    return steps;
  }
  check_uninstallable(places, found);
  if (found.has_draft) remove_draft(places, found, steps);
  add_moves(places.wrapped, places.vendors, found.kept, steps);
  if (found.registered) {
    steps.push_back(move_over(places.registration(), places.wrapped / kUnregisteredName));
  }
  steps.push_back(set_time(places.vendors, found.record->vendors));
  steps.push_back(move(places.wrapped, places.draft()));
  if (found.registered || found.has_unregistered) {
    steps.push_back(remove_file(places.draft() / kUnregisteredName));
  }
  steps.push_back(remove_file(places.draft() / kRecordName));
  steps.push_back(remove_folder(places.draft()));
  steps.push_back(set_time(places.parent(), found.record->parent));
  return steps;
}

}  // namespace cleave::cli
