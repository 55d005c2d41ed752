#include "cli/doctor/report.h"

#include <algorithm>
#include <iomanip>

#include "base/text/display_text.h"

namespace cleave::cli {

void Report::section(const std::string& title) {
  if (started_) out_ << '\n';
  started_ = true;
  out_ << base::displayable(title) << '\n';
}

void Report::ok(const std::string& text) { line("ok", text, ""); }

void Report::note(const std::string& text, const std::string& remedy) { line("note", text, remedy); }

void Report::problem(const std::string& text, const std::string& remedy) {
  ++problems_;
  line("problem", text, remedy);
}

void Report::line(const char* mark, const std::string& text, const std::string& remedy) {
  constexpr int mark_width = 9;
  const std::string indent(mark_width, ' ');
  out_ << "  " << std::left << std::setw(mark_width) << mark << base::displayable_lines(text) << '\n';
  if (!remedy.empty()) out_ << "  " << indent << "-> " << base::displayable_lines(remedy) << '\n';
  // The next line may take a while, for example if a driver hangs.
  out_.flush();
}

void Report::table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string text = "  ";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += "  " + row[i] + std::string(widths[i] - row[i].size(), ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    out_ << base::displayable(text) << '\n';
  }
}

void Report::conclude() {
  out_ << '\n';
  if (problems_ == 0) {
    out_ << "No problems found.\n";
  } else {
    out_ << problems_ << (problems_ == 1 ? " problem" : " problems") << " found.\n";
  }
  out_.flush();
}

}  // namespace cleave::cli
