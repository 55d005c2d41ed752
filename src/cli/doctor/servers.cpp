#include "base/files/search_list.h"
#include "cli/doctor/doctor.h"
#include "cli/remote/remote.h"

namespace cleave::cli {

void report_servers(const DoctorRequest& request, const std::vector<Record>& records, Report& report) {
  const Record* const setting = find_setting(records, "remote.servers");
  if (setting == nullptr || (*setting)[2].empty()) return;
  report.section("Servers");
  for (const std::string& address : base::split((*setting)[2], ",")) {
    const ServerStatus server = query_server(address, request.timeout);
    if (server.problem.empty()) {
      report.ok(address + " " + server.response);
    } else {
      report.problem(address + " cannot be used: " + server.problem,
                     "start cleave-serverd there, or check the network, the token and the certificates");
    }
  }
}

}  // namespace cleave::cli
