#include "cli/catching.h"
#include "cli/doctor.h"

namespace cleave::cli {

void report_program(const DoctorRequest& request, const Installation& cleave, bool registered,
                    Report& report) {
  report.section("Program " + request.program);
  bool is_caught = true;
  for (const Finding& finding : examine_program(request.program, cleave, registered)) {
    switch (finding.mark) {
      case Finding::Mark::ok:
        report.ok(finding.text);
        break;
      case Finding::Mark::note:
        report.note(finding.text, finding.remedy);
        break;
      case Finding::Mark::problem:
        is_caught = false;
        report.problem(finding.text, finding.remedy);
        break;
    }
  }
  if (is_caught) report.ok("start it with: cleave run -- " + request.program);
}

}  // namespace cleave::cli
