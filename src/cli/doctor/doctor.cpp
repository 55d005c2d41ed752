#include "cli/doctor/doctor.h"

#include <cstdlib>
#include <iostream>
#include <tuple>

#include "base/settings/old_settings.h"
#include "cli/doctor/spelling.h"
#include "cli/probe/child_process.h"
#include "cli/probe/records.h"
#include "cli/system/drivers.h"

namespace cleave::cli {
namespace {

constexpr const char* reinstall = "install Cleave again";

void report_libraries(const Installation& cleave, Report& report) {
  report.section("Libraries");
  report.note("this command is " + cleave.command.string() + ", version " CLEAVE_VERSION);
  const auto missing = cleave.missing();
  for (const auto& library : missing) report.problem(library.string() + " is missing", reinstall);
  if (missing.empty()) report.ok("drop-in, stub and layer are in " + cleave.layer.parent_path().string());
  if (!cleave.can_be_in_layers()) {
    report.problem("the path above contains a colon, which separates library lists", "move Cleave");
  } else if (!cleave.can_preload()) {
    report.note("LD_PRELOAD cannot hold a path with a space; `cleave run` uses the other ways only",
                "move Cleave to a path without spaces");
  }
}

// Without layers, since Cleave's layer might answer instead; without drivers, which are not needed.
ChildResult probe_drop_in(const DoctorRequest& request) {
  const DriverSelection none({});
  return run_child(
      {{"probe", "library"}, {{"OPENCL_LAYERS", std::nullopt}, none.variable()}, request.timeout});
}

void report_version(const ChildResult& child, const std::vector<Record>& records, Report& report) {
  if (const Record* failure = find(records, "failure", 2)) {
    report.problem("the drop-in does not answer: " + (*failure)[1], reinstall);
  } else if (!child.succeeded()) {
    report.problem("a process that only loads the drop-in " + child.outcome_text(), reinstall);
  } else if (const Record* version = find(records, "version", 2);
             version != nullptr && (*version)[1] != CLEAVE_VERSION) {
    report.problem("the drop-in's version is " + (*version)[1] + ", not this command's",
                   "install both from the same release");
  } else {
    report.ok("the drop-in can be loaded, and its version is this command's");
  }
}

std::vector<const Record*> settings_of(const std::vector<Record>& records) {
  std::vector<const Record*> settings;
  for (const Record& record : records) {
    if (record[0] == "setting" && record.size() >= 4) settings.push_back(&record);
  }
  return settings;
}

void report_variables(const std::vector<const Record*>& settings, Report& report) {
  // The first are no settings; the drop-in lists those.
  std::vector<std::string> known = {"CLEAVE_CONFIG", "CLEAVE_LAYERS", "CLEAVE_SLURM_FOLDER"};
  for (const Record* const setting : settings) {
    if (setting->size() > 4 && !(*setting)[4].empty()) known.push_back((*setting)[4]);
  }
  for (const base::OldSetting& old : base::old_settings()) {
    known.emplace_back(old.variable);
    if (std::getenv(old.variable) != nullptr)
      report.note(std::string(old.variable) + " is an old name", old.instead);
  }
  for (const Misspelt& variable : misspelt_variables(known)) {
    report.problem(variable.variable + " is not a setting of Cleave",
                   variable.suggestion.empty() ? "unset it" : "did you mean " + variable.suggestion + "?");
  }
}

void report_settings(const DoctorRequest& request, const std::vector<Record>& records, Report& report) {
  report.section("Settings in force");
  const std::vector<const Record*> settings = settings_of(records);
  std::vector<std::vector<std::string>> rows = {{"setting", "value", "from"}};
  for (const Record* const setting : settings) {
    const auto& [name, value, origin] = std::tie((*setting)[1], (*setting)[2], (*setting)[3]);
    if (request.all_settings || origin != "default")
      rows.push_back({name, value.empty() ? "-" : value, origin});
  }
  if (rows.size() > 1) report.table(rows);
  if (settings.empty()) {
    report.note("unknown: the drop-in gave no answer");
  } else if (!request.all_settings) {
    report.ok(std::string(rows.size() > 1 ? "all others" : "all settings") +
              " have their default values, which `cleave doctor --all` shows");
  }
  for (const Record& record : records) {
    if (record[0] == "problem" && record.size() > 1) {
      report.problem(record[1], "fix the variable or the file that it names");
    }
  }
  if (!settings.empty()) report_variables(settings, report);
}

// Like a program that opens the system's loader by its path: without the drop-in, with the layer.
ChildRequest through_layer(const DoctorRequest& request, const Installation& cleave,
                           const std::string& loader) {
  ChildRequest child;
  child.arguments = {"probe", "loader", loader};
  child.environment = {{"OPENCL_LAYERS", cleave.layer.string()}, {"LD_PRELOAD", std::nullopt}};
  child.limit = request.timeout;
  return child;
}

void report_layers(const ChildResult& child, Report& report) {
  const std::vector<Record> records = decode(child.output);
  const Record* face = find(records, "face", 2);
  const Record* platforms = find(records, "platforms", 2);
  if (face != nullptr && (*face)[1] == "layer") {
    report.ok("it loads Cleave's layer: programs that open it by its path are intercepted, too");
  } else if (platforms != nullptr && (*platforms)[1] == "0") {
    report.note("whether it loads layers cannot be tested without a driver");
  } else if (face != nullptr) {
    report.note("it does not load layers: programs that open it by its path are not intercepted",
                "install ocl-icd 2.3 or the Khronos loader 3.0, or later");
  } else if (const Record* failure = find(records, "failure", 2)) {
    report.problem("layers cannot be tested: " + (*failure)[1], "fix or replace that loader");
  } else {
    report.problem("a process that loaded the layer and listed the platforms " + child.outcome_text(),
                   "see \"Platforms and devices\"; if there is no problem there, report a bug of Cleave");
  }
}

// The loader below the drop-in; if the drop-in gave no answer, the one that the dynamic linker finds.
std::string loader_of(const std::vector<Record>& records) {
  const Record* next = find(records, "next", 2);
  return next == nullptr || (*next)[1].find('/') == std::string::npos ? "libOpenCL.so.1" : (*next)[1];
}

void report_loader(const DoctorRequest& request, const Installation& cleave, const std::string& loader,
                   Report& report) {
  report.section("Loader");
  if (loader.find('/') == std::string::npos) {
    report.problem("the drop-in found no OpenCL loader to forward calls to",
                   "install one (ocl-icd-libopencl1), or name it in CLEAVE_NEXT");
    return;
  }
  report.ok("calls go to " + loader);
  report_layers(run_child(through_layer(request, cleave, loader)), report);
}

}  // namespace

int doctor(const DoctorRequest& request) {
  Report report(std::cout);
  const Installation cleave = find_installation();
  report_libraries(cleave, report);
  const ChildResult child = probe_drop_in(request);
  const std::vector<Record> records = decode(child.output);
  report_version(child, records, report);
  report_settings(request, records, report);
  if (child.succeeded()) report_loader(request, cleave, loader_of(records), report);
  const bool registered = report_vendor(request, loader_of(records), report);
  if (child.succeeded()) {
    const std::vector<Record> devices = report_devices(request, report);
    report_neighbours(records, report);
    report_turns(records, devices, report);
    report_servers(request, records, report);
  }
  if (!request.program.empty()) report_program(request, cleave, registered, report);
  if (!request.command.empty()) report_loaders(request, cleave, report);
  report.conclude();
  return report.problems() == 0 ? 0 : 1;
}

}  // namespace cleave::cli
