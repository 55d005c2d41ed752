#include "cli/top/turns.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/statvfs.h>

#include "cli/doctor/doctor.h"
#include "turns/shared_file.h"

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

struct TurnRules {
  std::string mode;
  std::string folder;  // empty: none
};

// Why a device of that kind has no turns; empty if it has.
std::string exemption(const TurnRules& rules, const std::string& kind) {
  if (rules.mode == "off") return "CLEAVE_TURNS=off";
  if (kind == "remote") return "its server takes them";
  if (rules.folder.empty()) return "CLEAVE_REGISTRY=off leaves no folder to meet others in";
  if (kind == "processor" && rules.mode == "auto")
    return "a processor, whose time the host's scheduler shares out (CLEAVE_TURNS=on takes turns there, too)";
  return {};
}

// The folder, or the nearest one above it that exists.
fs::path existing(fs::path folder) {
  std::error_code error;
  while (folder.has_parent_path() && folder != folder.parent_path() && !fs::exists(folder, error))
    folder = folder.parent_path();
  return folder;
}

bool has_room(const std::string& path) {
  struct statvfs system {};
  return ::statvfs(path.c_str(), &system) != 0 ||
         system.f_bavail * system.f_frsize >= turns::SharedFile::kSize;
}

// Returns whether files can be made and used there.
bool report_folder(const std::string& folder, Report& report) {
  const fs::path there = existing(folder);
  std::error_code error;
  if (!fs::is_directory(there, error) || (there == folder && fs::is_symlink(there, error))) {
    report.problem("no turns: " + there.string() + " is not a folder",
                   "remove it, or name another folder in CLEAVE_REGISTRY");
  } else if (::access(there.c_str(), W_OK | X_OK) != 0) {
    report.problem("no turns: " + there.string() + " cannot be written to (" + std::strerror(errno) + ")",
                   "let those who share devices write to it, or name another folder in CLEAVE_REGISTRY");
  } else {
    report.ok("processes meet in " + folder + (there == folder ? "" : ", which the first one makes"));
    return true;
  }
  return false;
}

void report_limit(Report& report) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= turns::SharedFile::kSize) return;
  report.problem("no turns: the limit on the size of files is " + std::to_string(limit.rlim_cur) + " bytes",
                 "raise it (ulimit -f) to " + std::to_string(turns::SharedFile::kSize) + " bytes or more");
}

std::string words_of(const TurnTaker& taker) {
  const turns::ParticipantReport& is = taker.report;
  return std::to_string(is.pid) + (taker.program.empty() ? "" : " " + taker.program) + " (weight " +
         std::to_string(is.weight) + ", " + name(is.priority) +
         (is.holds   ? ", holds it)"
          : is.waits ? ", waits)"
                     : ")");
}

void report_takers(const std::string& name, const SharedDevice& device, Report& report) {
  std::string living;
  std::size_t alive = 0;
  for (const TurnTaker& taker : device.takers) {
    if (!taker.report.alive) continue;
    ++alive;
    living += (living.empty() ? ": " : ", ") + words_of(taker);
  }
  report.ok(name + ": in turns, now " + (alive == 0 ? "with nobody" : "with " + std::to_string(alive)) +
            (alive == 0   ? ""
             : alive == 1 ? " process"
                          : " processes") +
            living +
            (alive > 1 && !device.is_declared
                 ? "; without turns, since nobody has declared a weight, a class or a cap"
                 : ""));
  const std::size_t ended = device.takers.size() - alive;
  if (ended != 0) {
    report.note(name + ": " + std::to_string(ended) + (ended == 1 ? " process has" : " processes have") +
                " ended without leaving; the next one that joins or launches removes what is left");
  }
  if (alive >= turns::kMaxParticipants) {
    report.problem(name + ": " + std::to_string(alive) + " processes share it, and there is room for no more",
                   "those that start now take no turns: end some of them");
  }
}

const char* remedy_for(turns::FileState state) {
  switch (state) {
    case turns::FileState::unreadable:
      return "let those who share the device read and write it, or delete it while nobody uses the device";
    case turns::FileState::other_version:
      return "delete it when the programs under that version have ended, and use one version on a machine";
    default:
      return "delete it";
  }
}

void report_device_turns(const std::string& name, const std::string& folder, const std::string& file,
                         const std::vector<SharedDevice>& devices, Report& report) {
  const std::string path = folder + "/" + file;
  const turns::DeviceReport found = turns::read_report(folder, file);
  if (!found.problem.empty())
    return report.problem(name + ": no turns: " + path + ": " + found.problem, remedy_for(found.state));
  if (found.state == turns::FileState::usable && ::access(path.c_str(), W_OK) != 0) {
    return report.problem(name + ": no turns: " + path + ": " + std::strerror(errno),
                          remedy_for(turns::FileState::unreadable));
  }
  if (found.state == turns::FileState::missing && !has_room(existing(folder))) {
    return report.problem(name + ": no turns: the file system of " + folder + " is full",
                          "make room there, or name another folder in CLEAVE_REGISTRY");
  }
  const auto same = std::find_if(devices.begin(), devices.end(),
                                 [&](const SharedDevice& device) { return device.file == file; });
  report_takers(name, same != devices.end() ? *same : SharedDevice(), report);
}

}  // namespace

void report_turns(const std::vector<Record>& records, const std::vector<Record>& devices, Report& report) {
  if (find(devices, "device") == nullptr) return;
  report.section("Turns");
  TurnRules rules{value_of_setting(records, "turns.mode"), value_of_setting(records, "neighbours.registry")};
  if (rules.folder == "off") rules.folder.clear();
  std::vector<const Record*> taking;
  for (const Record& device : devices) {
    if (device[0] != "device" || device.size() < 10 || device[8].empty()) continue;
    const std::string why = exemption(rules, device[9]);
    if (why.empty()) {
      taking.push_back(&device);
    } else {
      report.note(device[3] + ": no turns: " + why);
    }
  }
  if (taking.empty()) return;
  report.note("a program's share is that of weight " + value_of_setting(records, "turns.weight") +
              " in the class " + value_of_setting(records, "turns.priority"));
  report_limit(report);
  if (!report_folder(rules.folder, report)) return;
  const auto shared = shared_devices(rules.folder, running_processes(rules.folder));
  for (const Record* device : taking)
    report_device_turns((*device)[3], rules.folder, (*device)[8], shared, report);
}

}  // namespace cleave::cli
