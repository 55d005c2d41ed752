#include "cli/icd/icd.h"

#include <algorithm>
#include <fcntl.h>
#include <iostream>
#include <system_error>
#include <unistd.h>

#include <sys/file.h>

#include "base/files/file_descriptor.h"
#include "base/text/display_text.h"
#include "cli/icd/folders.h"
#include "cli/icd/plan.h"
#include "cli/icd/steps.h"
#include "cli/system/drivers.h"
#include "cli/system/elf.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

using Action = IcdRequest::Action;

// The default of the setting icd.wrap.
constexpr const char* kDefaultWrapped = "/etc/OpenCL/vendors.cleave";

fs::path wrapped_of(const IcdRequest& request) {
  return request.wrapped.empty() ? fs::path(request.vendors.native() + ".cleave") : request.wrapped;
}

IcdPaths places_of(const IcdRequest& request) {
  IcdPaths places{below(request.root, request.vendors), below(request.root, wrapped_of(request))};
  if (places.vendors == places.wrapped)
    throw IcdError("the two folders are the same: " + places.vendors.string());
  // A symbolic link in another system's root may point out of it.
  const fs::path root = fs::weakly_canonical(request.root);
  for (const fs::path& folder : {places.vendors, places.parent()}) {
    const fs::path real = fs::weakly_canonical(folder);
    if (std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first != root.end()) {
      throw IcdError(folder.string() + " points out of " + root.string());
    }
  }
  return places;
}

std::string library_of(const IcdRequest& request) {
  return registrable(request.root, request.library.empty() ? find_installation().vendor : request.library);
}

// Excludes other `cleave icd` processes.
class Lock {
 public:
  explicit Lock(const fs::path& folder)
      : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_.is_open() && ::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
      throw IcdError("another `cleave icd` is running on " + folder.string());
    }
  }

 private:
  base::FileDescriptor folder_;
};

bool is_dry_run(const IcdRequest& request) { return request.dry || (::geteuid() != 0 && !request.apply); }

// Undoes everything on failure, unless it was installed before.
void apply_or_undo(const IcdPaths& places, const IcdSteps& steps, bool was_installed) try {
  apply(steps);
} catch (const IcdError& failure) {
  if (was_installed) throw;
  std::cout << "The last step failed; undoing the changes.\n";
  try {
    apply(plan_uninstall(places));
  } catch (const IcdError& second) {
    throw IcdError(std::string(failure.what()) + "; and undoing it failed: " + second.what() +
                   "; fix that, then run `cleave icd uninstall`");
  }
  throw;
}

int install(const IcdRequest& request, const IcdPaths& places) {
  const std::string library = library_of(request);
  const Lock lock(places.vendors);
  const IcdSteps steps = plan_install(places, library);
  if (steps.empty()) {
    std::cout << "Nothing to do: Cleave is in front of every driver.\n";
    return 0;
  }
  if (is_dry_run(request)) {
    show(steps, ::geteuid() != 0);
    return 0;
  }
  apply_or_undo(places, steps, survey(places).record.has_value());
  std::cout << "Done: programs that start from now on find Cleave in front of every driver.\n";
  if (fs::absolute(wrapped_of(request)) != kDefaultWrapped) {
    std::cout << "Set icd.wrap = \"" << wrapped_of(request).string()
              << "\" in /etc/cleave/cleave.toml: its default is " << kDefaultWrapped << ".\n";
  }
  return 0;
}

int uninstall(const IcdRequest& request, const IcdPaths& places) {
  const Lock lock(places.vendors);
  const IcdSteps steps = plan_uninstall(places);
  if (steps.empty()) {
    std::cout << "Nothing to do: it is not installed.\n";
  } else if (is_dry_run(request)) {
    show(steps, ::geteuid() != 0);
  } else {
    apply(steps);
    std::cout << "Done: everything is restored.\n";
  }
  return 0;
}

// --- status

void show_drivers(const char* title, const fs::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::cout << title << (folder / name).string() << ": "
              << base::displayable(library_named_in(folder / name)) << '\n';
  }
}

// Prints the last line of the status. Returns whether Cleave is in front of every driver.
bool conclude(const IcdSurvey& found, const fs::path& root) {
  const bool complete = found.record && found.registered && found.drivers.empty();
  if (complete && !read_elf(below(root, *found.registered)).facts) {
    std::cout << "Broken: the registered library is missing. Install Cleave and run `cleave icd install`.\n";
    return false;
  }
  if (complete) {
    std::cout << "Installed: Cleave is in front of every driver.\n";
  } else if (found.record && found.registered) {
    std::cout << "Installed, but not in front of every driver: run `cleave icd install` again.\n";
  } else if (found.record || found.has_draft) {
    std::cout << "Interrupted: `cleave icd install` continues, `cleave icd uninstall` undoes it.\n";
  } else if (found.registered) {
    std::cout << "Registered, but not by `cleave icd install`.\n";
  } else {
    std::cout << "Not installed.\n";
  }
  return complete;
}

int status(const IcdRequest& request, const IcdPaths& places) {
  const IcdSurvey found = survey(places);
  if (found.registered) {
    std::cout << "registered  " << places.registration().string() << ": "
              << base::displayable(*found.registered) << '\n';
  }
  show_drivers("wrapped     ", places.wrapped, found.kept);
  show_drivers("not wrapped ", places.vendors, found.drivers);
  return conclude(found, request.root) ? 0 : 1;
}

}  // namespace

int icd(const IcdRequest& request) {
  const IcdPaths places = places_of(request);
  switch (request.action) {
    case Action::install:
      return install(request, places);
    case Action::uninstall:
      return uninstall(request, places);
    case Action::status:
      break;
  }
  return status(request, places);
}

}  // namespace cleave::cli
