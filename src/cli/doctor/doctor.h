// `cleave doctor`: would it work here, and if not, why and what to do. Prints its report on standard output.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/doctor/report.h"
#include "cli/probe/records.h"
#include "cli/system/installation.h"

namespace cleave::cli {

struct DoctorRequest {
  std::string program;                        // empty: only the machine is looked at
  std::chrono::milliseconds timeout{10'000};  // with each process that meets a driver
};

// Returns the exit status: 0 where nothing is wrong, 1 where there are problems.
int doctor(const DoctorRequest& request);

// Its sections with files of their own.
void report_devices(const DoctorRequest& request, Report& report);
void report_neighbours(const std::vector<Record>& records, Report& report);
// Whether programs that are not under `cleave run` are caught. `loader` is the one that they find.
bool report_vendor(const DoctorRequest& request, const std::string& loader, Report& report);
// `registered`: whether they are.
void report_program(const DoctorRequest& request, const Installation& cleave, bool registered,
                    Report& report);

}  // namespace cleave::cli
