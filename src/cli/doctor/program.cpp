#include "cli/doctor/doctor.h"
#include "cli/doctor/interception.h"

namespace cleave::cli {

void report_program(const DoctorRequest& request, const Installation& cleave, bool registered,
                    Report& report) {
  report.section("Program " + request.program);
  bool is_intercepted = true;
  for (const Finding& finding : examine_program(request.program, cleave, registered)) {
    switch (finding.severity) {
      case Finding::Severity::ok:
        report.ok(finding.text);
        break;
      case Finding::Severity::note:
        report.note(finding.text, finding.remedy);
        break;
      case Finding::Severity::problem:
        is_intercepted = false;
        report.problem(finding.text, finding.remedy);
        break;
    }
  }
  if (is_intercepted) report.ok("start it with: cleave run -- " + request.program);
  if (is_intercepted && request.command.empty())
    report.note("which loader it gets: cleave doctor --run " + request.program + " ARGUMENTS...");
}

}  // namespace cleave::cli
