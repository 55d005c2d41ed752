// `cleave remote ls`: the servers, what they have, and how busy they are. Also what `cleave doctor` says of
// them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/doctor/report.h"
#include "cli/probe/records.h"

namespace cleave::cli {

// Prints a paragraph for each of the addresses, or for those of CLEAVE_REMOTE where there is none. Returns
// the exit status: 0 where all answered, 1 where one did not, 2 where none is named.
int remote_ls(const std::vector<std::string>& addresses);

// Prints what the server at the address says of itself, for a process of its own (probe.h):
//   server NAME, answered NANOSECONDS, clients N MOST, device NAME VERSION UNITS BYTES ..., or problem TEXT
int probe_server(const std::string& address);

// The section of the report; none where the settings name no servers.
void report_servers(const std::vector<Record>& records, std::chrono::milliseconds timeout, Report& report);

}  // namespace cleave::cli
