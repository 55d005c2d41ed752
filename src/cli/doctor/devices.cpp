#include <cstdlib>
#include <filesystem>
#include <optional>

#include "cli/doctor/doctor.h"
#include "cli/probe/child_process.h"
#include "cli/probe/records.h"
#include "cli/system/drivers.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

// Without a registry entry, which a probe would leave behind, since it ends without exit handlers; and without adding to
// the user's trace.
ChildResult probe(const DoctorRequest& request, std::vector<std::string> arguments,
                  const std::vector<std::pair<std::string, std::optional<std::string>>>& settings = {}) {
  ChildRequest child{
      std::move(arguments), {{"CLEAVE_REGISTRY", "off"}, {"CLEAVE_TRACE", "off"}}, request.timeout};
  child.arguments.insert(child.arguments.begin(), "probe");
  child.environment.insert(child.environment.end(), settings.begin(), settings.end());
  return run_child(child);
}

// The last line on the process's standard error, which mostly has the reason.
std::string last_error_line(const ChildResult& child) {
  const std::size_t end = child.errors.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t newline = child.errors.rfind('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return "; its last message: " + child.errors.substr(begin, end + 1 - begin);
}

std::string failure_reason(const ChildResult& child, const std::vector<Record>& records) {
  const Record* failure = find(records, "failure", 2);
  return (failure != nullptr ? ": " + (*failure)[1] : " " + child.outcome_text()) + last_error_line(child);
}

// The loader loads all drivers at once, so a bad one makes all fail: try them one by one.
void report_faulty_drivers(const DoctorRequest& request, Report& report) {
  for (const fs::path& driver : installed_drivers()) {
    const DriverSelection alone({driver});
    const ChildResult child = run_child({{"probe", "devices"}, {alone.variable()}, request.timeout});
    if (child.succeeded()) {
      report.ok(driver.string() + " alone works");
    } else {
      report.problem(
          "with " + driver.string() + " alone, the process" + failure_reason(child, decode(child.output)),
          "update or remove that driver; to go on without it, point OCL_ICD_VENDORS at a folder "
          "of the others");
    }
  }
}

// Reports the CPU time of the driver's waits, and how Cleave waits by default.
void report_waits(const DoctorRequest& request, const Record& device, Report& report) {
  constexpr int threshold = 10;  // per cent; the library's, see docs/waiting.md
  const std::vector<Record> records =
      decode(probe(request, {"waits", device[1], device[2]}, {{"CLEAVE_WAIT", "native"}}).output);
  const Record* waits = find(records, "waits", 3);
  const bool spins = waits != nullptr && std::atoi((*waits)[2].c_str()) > threshold;
  std::string text = device[3] + ": ";
  if (waits == nullptr) {
    text += "the CPU time of its driver's waits could not be measured";
  } else {
    text += std::string("its driver's waits ") + (spins ? "spin" : "sleep") + " (CPU time: " + (*waits)[2] +
            " % of a wait of " + (*waits)[1] + " ms)";
  }
  const bool processor = device[4] == "CPU";
  const bool old = device[5].starts_with("OpenCL 1.0") || device[5].starts_with("OpenCL 1.1");
  if (processor) {
    text += "; CLEAVE_WAIT=auto waits in the driver, as always on a CPU device";
  } else if (old) {
    text += "; Cleave waits in the driver, as always with OpenCL 1.0 and 1.1";
  } else if (spins) {
    text += "; CLEAVE_WAIT=auto sleeps instead if other VMs run";
  } else if (waits != nullptr) {
    text += "; CLEAVE_WAIT=auto waits in the driver";
  }
  report.note(text);
}

void report_device(const DoctorRequest& request, const Record& device, Report& report) {
  const std::string name = device[3] + " (" + device[4] + ", " + device[5] + ", driver " + device[6] + ")";
  const std::string cores = device[7].empty() ? "cores unknown" : "estimated at " + device[7] + " cores";
  const ChildResult child = probe(request, {"kernel", device[1], device[2]});
  const std::vector<Record> records = decode(child.output);
  if (const Record* right = find(records, "right", 2)) {
    report.ok(name + ": " + cores + "; a small kernel ran with the correct result (" + (*right)[1] + " ms)");
    report_waits(request, device, report);
  } else if (find(records, "no-compiler") != nullptr) {
    report.note(name + ": " + cores + "; it has no compiler, so no kernel was run");
  } else {
    report.problem(name + ": the process that ran a small kernel" + failure_reason(child, records),
                   "update the driver; if it works with CLEAVE_DISABLE=1, report a bug of Cleave");
  }
}

}  // namespace

std::vector<Record> report_devices(const DoctorRequest& request, Report& report) {
  report.section("Platforms and devices");
  const ChildResult child = probe(request, {"devices"});
  std::vector<Record> records = decode(child.output);
  if (!child.succeeded()) {
    report.problem("a process that listed the devices" + failure_reason(child, records),
                   "the cause is one of the drivers in " + driver_folder().string() + ":");
    report_faulty_drivers(request, report);
    return records;
  }
  if (find(records, "device") == nullptr) {
    report.problem("there is no OpenCL device",
                   "install a driver for yours, or pocl-opencl-icd for the processor");
  }
  for (const Record& record : records) {
    if (record[0] == "platform" && record.size() >= 4)
      report.note("platform " + record[2] + " (" + record[3] + ")");
    if (record[0] == "device" && record.size() >= 8) report_device(request, record, report);
  }
  return records;
}

}  // namespace cleave::cli
