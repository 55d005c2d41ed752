#include "cli/doctor/doctor.h"

namespace cleave::cli {
namespace {

std::string machines(const std::string& count) {
  return count + (count == "1" ? " virtual machine" : " virtual machines");
}

std::string age(const std::string& milliseconds) {
  const unsigned long long tenths = std::stoull(milliseconds) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s ago";
}

// `source`: neighbour NAME PLACE STATE KNOWLEDGE VMS AGE
void report_source(const Record& source, Report& report) {
  const std::string what = source[1] +
                           (source[2].empty() || source[1].ends_with(source[2]) ? "" : " at " + source[2]) +
                           ": " + source[3];
  if (source[4] == "known") {
    report.ok(what + ", " + machines(source[5]) + ", confirmed " + age(source[6]));
  } else if (source[4] == "stale") {
    report.note(
        what + ", no update since " + machines(source[5]) + " " + age(source[6]) + ", which still holds",
        "check that cleave-monitord, or the writer of the file, is running");
  } else {
    report.note(what + ", no count yet",
                source[1] == "monitor"
                    ? "start cleave-monitord on the host, or name its address in CLEAVE_NEIGHBOURS"
                    : "write the number of virtual machines into it");
  }
}

}  // namespace

const Record* find_setting(const std::vector<Record>& records, std::string_view key) {
  for (const Record& record : records) {
    if (record.size() >= 4 && record[0] == "setting" && record[1] == key) return &record;
  }
  return nullptr;
}

std::string value_of_setting(const std::vector<Record>& records, std::string_view key) {
  const Record* setting = find_setting(records, key);
  return setting != nullptr ? (*setting)[2] : "";
}

void report_neighbours(const std::vector<Record>& records, Report& report) {
  report.section("Neighbours");
  const Record* vms = find(records, "vms", 2);
  if (vms == nullptr) {
    report.note("unknown: the drop-in gave no answer");
    return;
  }
  const Record* count = find_setting(records, "neighbours.count");
  const bool fixed = count != nullptr && !(*count)[2].empty();
  const std::string from =
      fixed ? (*count)[3] : "neighbours.source=" + value_of_setting(records, "neighbours.source");
  report.ok("the next launch counts " + machines((*vms)[1]) + ", including this one (from: " + from + ")");
  for (const Record& record : records) {
    if (record[0] == "neighbour" && record.size() > 6) report_source(record, report);
  }
  const std::string policy = value_of_setting(records, "split.policy");
  if ((*vms)[1] == "1" && (policy == "alpha" || policy.starts_with("budget"))) {
    report.note("with one VM, launches are not split",
                "to try splitting, set CLEAVE_VMS or use `cleave run --vms N`");
  }
}

}  // namespace cleave::cli
