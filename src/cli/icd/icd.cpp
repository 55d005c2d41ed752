#include "cli/icd/icd.h"

#include <algorithm>
#include <fcntl.h>
#include <iostream>
#include <system_error>
#include <unistd.h>

#include <sys/file.h>

#include "cli/icd/folders.h"
#include "cli/icd/plan.h"
#include "cli/icd/steps.h"
#include "cli/system/elf.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

using Action = IcdRequest::Action;

// Where the vendor library looks if no setting says otherwise.
constexpr const char* kDefaultWrapped = "/etc/OpenCL/vendors.cleave";

fs::path below(const fs::path& root, const fs::path& path) {
  return (root / fs::absolute(path).relative_path()).lexically_normal();
}

fs::path wrapped_of(const IcdRequest& request) {
  return request.wrapped.empty() ? fs::path(request.vendors.native() + ".cleave") : request.wrapped;
}

IcdPaths places_of(const IcdRequest& request) {
  IcdPaths places{below(request.root, request.vendors), below(request.root, wrapped_of(request))};
  if (places.vendors == places.wrapped) throw IcdError("the two folders are one: " + places.vendors.string());
  // In a root that is somebody else's, a link may lead out of it.
  const fs::path root = fs::weakly_canonical(request.root);
  for (const fs::path& folder : {places.vendors, places.parent()}) {
    const fs::path real = fs::weakly_canonical(folder);
    if (std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first != root.end()) {
      throw IcdError(folder.string() + " leads out of " + root.string());
    }
  }
  return places;
}

// The library's path as programs below the root will see it.
std::string library_of(const IcdRequest& request) {
  const fs::path library =
      fs::absolute(request.library.empty() ? find_installation().vendor : request.library).lexically_normal();
  const fs::path file = below(request.root, library);
  if (!read_elf(file).facts) {
    throw IcdError(file.string() + " is not there, or no library: install Cleave there, or name the file " +
                   "with --library");
  }
  return library;
}

// One `cleave icd` at a time.
class Lock {
 public:
  explicit Lock(const fs::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      throw IcdError("another `cleave icd` is at work on " + folder.string());
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

bool is_dry_run(const IcdRequest& request) { return request.dry || (::geteuid() != 0 && !request.apply); }

void show(const IcdSteps& steps) {
  for (const IcdStep& step : steps) std::cout << "would " << step.text << '\n';
  std::cout << "Nothing was changed." << (::geteuid() != 0 ? " Do it as root, or with --apply.\n" : "\n");
}

void take(const IcdSteps& steps) {
  for (const IcdStep& step : steps) {
    step.take();
    std::cout << step.text << std::endl;  // each for itself: it may be the last
  }
}

// What fails leaves nothing behind; but what was installed before stays so.
void take_or_undo(const IcdPaths& places, const IcdSteps& steps, bool was_installed) try {
  take(steps);
} catch (const IcdError& failure) {
  if (was_installed) throw;
  std::cout << "That failed; undoing it.\n";
  try {
    take(plan_uninstall(places));
  } catch (const IcdError& second) {
    throw IcdError(std::string(failure.what()) + "; and undoing it failed: " + second.what() +
                   "; mend that, then run `cleave icd uninstall`");
  }
  throw;
}

int install(const IcdRequest& request, const IcdPaths& places) {
  const std::string library = library_of(request);
  const Lock lock(places.vendors);
  const IcdSteps steps = plan_install(places, library);
  if (steps.empty()) {
    std::cout << "Nothing to do: Cleave stands in front of every driver.\n";
    return 0;
  }
  if (is_dry_run(request)) {
    show(steps);
    return 0;
  }
  take_or_undo(places, steps, survey(places).record.has_value());
  std::cout << "Done: programs that start now find Cleave in front of every driver.\n";
  if (fs::absolute(wrapped_of(request)) != kDefaultWrapped) {
    std::cout << "Set icd.wrap = \"" << wrapped_of(request).string()
              << "\" in /etc/cleave/cleave.toml: the library looks into " << kDefaultWrapped
              << " by itself.\n";
  }
  return 0;
}

int uninstall(const IcdRequest& request, const IcdPaths& places) {
  const Lock lock(places.vendors);
  const IcdSteps steps = plan_uninstall(places);
  if (steps.empty()) {
    std::cout << "Nothing to do: it is not installed.\n";
  } else if (is_dry_run(request)) {
    show(steps);
  } else {
    take(steps);
    std::cout << "Done: all is as it was.\n";
  }
  return 0;
}

// --- status

void show_drivers(const char* title, const fs::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::cout << title << (folder / name).string() << ": " << library_named_in(folder / name) << '\n';
  }
}

// The last line of the status, and whether Cleave stands in front of every driver.
bool conclude(const IcdSurvey& found, const fs::path& root) {
  const bool complete = found.record && found.registered && found.drivers.empty();
  if (complete && !read_elf(below(root, *found.registered)).facts) {
    std::cout
        << "Broken: the registered library is not there. Install Cleave and run `cleave icd install`.\n";
    return false;
  }
  if (complete) {
    std::cout << "Installed: Cleave stands in front of every driver.\n";
  } else if (found.record && found.registered) {
    std::cout << "Installed, but not in front of every driver: run `cleave icd install` again.\n";
  } else if (found.record || found.has_draft) {
    std::cout << "Interrupted: `cleave icd install` goes on, `cleave icd uninstall` undoes it.\n";
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
    std::cout << "registered  " << places.registration().string() << ": " << *found.registered << '\n';
  }
  show_drivers("wrapped     ", places.wrapped, found.kept);
  show_drivers("beside it   ", places.vendors, found.drivers);
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
