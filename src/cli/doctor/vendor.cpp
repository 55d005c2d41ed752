#include <algorithm>

#include "cli/doctor/doctor.h"
#include "cli/probe/child_process.h"
#include "cli/system/drivers.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

// Like a program that is not started with `cleave run`.
ChildResult probe_without_run(const DoctorRequest& request, const std::string& loader) {
  ChildRequest child;
  child.arguments = {"probe", "vendor", loader};
  child.environment = {{"OPENCL_LAYERS", std::nullopt}, {"LD_PRELOAD", std::nullopt}};
  child.limit = request.timeout;
  return run_child(child);
}

// The first .icd file that names the vendor library, or an empty path.
fs::path registration() {
  const std::vector<fs::path> files = installed_drivers();
  const auto found = std::find_if(files.begin(), files.end(), [](const fs::path& file) {
    return fs::path(library_named_in(file)).filename() == "libcleave-icd.so";
  });
  return found == files.end() ? fs::path() : *found;
}

void report_version(const Record& version, Report& report) {
  if (version[1] == CLEAVE_VERSION) return report.ok("it answers, and its version is this command's");
  report.problem("its version is " + (version[1].empty() ? "unknown" : version[1]) + ", not this command's",
                 "install both from the same release, then run `cleave icd install`");
}

void report_platforms(const std::vector<Record>& records, Report& report) {
  for (const Record& record : records) {
    if (record.size() < 2) continue;
    if (record[0] == "wrapped") report.ok("in front of the platform " + record[1]);
    if (record[0] == "beside") {
      report.note("not in front of the platform " + record[1], "cleave icd install");
    }
  }
}

}  // namespace

bool report_vendor(const DoctorRequest& request, const std::string& loader, Report& report) {
  report.section("Vendor library");
  const fs::path file = registration();
  const ChildResult child = probe_without_run(request, loader);
  const std::vector<Record> records = decode(child.output);
  const Record* version = find(records, "version", 2);
  if (file.empty() && version == nullptr) {
    report.note("not registered: programs are intercepted under `cleave run` only",
                "to intercept every program on this machine: cleave icd install");
    return false;
  }
  if (!file.empty()) report.note("registered in " + file.string() + ": " + library_named_in(file));
  if (version == nullptr) {
    const Record* failure = find(records, "failure", 2);
    report.problem("a program that is not under `cleave run` does not find it" +
                       (child.succeeded() ? "" : ": " + (failure ? (*failure)[1] : child.outcome_text())),
                   "check that the library exists and wraps a driver: cleave icd status");
    return false;
  }
  report_version(*version, report);
  report_platforms(records, report);
  return true;
}

}  // namespace cleave::cli
