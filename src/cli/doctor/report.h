// The report of `cleave doctor`: sections of lines that start with ok, note or problem.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace cleave::cli {

class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}

  void section(const std::string& title);
  void ok(const std::string& text);
  void note(const std::string& text, const std::string& remedy = "");
  void problem(const std::string& text, const std::string& remedy);

  // Prints the rows in aligned columns.
  void table(const std::vector<std::vector<std::string>>& rows);

  // Prints the last line: the number of problems.
  void conclude();

  unsigned problems() const { return problems_; }

 private:
  void line(const char* mark, const std::string& text, const std::string& remedy);

  std::ostream& out_;
  bool started_ = false;
  unsigned problems_ = 0;
};

}  // namespace cleave::cli
