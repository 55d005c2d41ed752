// `cleave doctor`: checks whether Cleave works on this machine and prints a report, with remedies, on standard output.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/report.h"
#include "cli/probe/records.h"
#include "cli/system/installation.h"

namespace cleave::cli {

struct DoctorRequest {
  std::string program;                        // a program to examine, too; may be empty
  bool all_settings = false;                  // also those that have their default value
  std::vector<std::string> command;           // if not empty, that program with its arguments, to be run
  std::chrono::milliseconds timeout{10'000};  // for each probe process
};

// Returns the exit status: 0 if there are no problems, else 1.
int doctor(const DoctorRequest& request);

// The sections of the report with files of their own. `records` are those of probe_library().
// Returns the records of probe_devices().
std::vector<Record> report_devices(const DoctorRequest& request, Report& report);
void report_neighbours(const std::vector<Record>& records, Report& report);
// `devices` are those of probe_devices().
void report_turns(const std::vector<Record>& records, const std::vector<Record>& devices, Report& report);
void report_servers(const DoctorRequest& request, const std::vector<Record>& records, Report& report);
// Returns whether programs without `cleave run` are intercepted. `loader` is the one that they use.
bool report_vendor(const DoctorRequest& request, const std::string& loader, Report& report);
// `registered`: the result of report_vendor().
void report_program(const DoctorRequest& request, const Installation& cleave, bool registered,
                    Report& report);

// Runs the command natively and under Cleave, and compares the OpenCL loaders that the dynamic linker gives it.
void report_loaders(const DoctorRequest& request, const Installation& cleave, Report& report);

// The record of a setting with its value and origin, or null.
const Record* find_setting(const std::vector<Record>& records, std::string_view key);
// Its value; empty if there is no record.
std::string value_of_setting(const std::vector<Record>& records, std::string_view key);

}  // namespace cleave::cli
