// A text without its line splices, of which each part knows its line in the original.
//
// Thread-safe once constructed. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::kernels {

class JoinedText {
 public:
  // `file` says where the text is from; empty for the program's own text.
  explicit JoinedText(std::string_view source, std::string file = {});

  // A text that is taken as it is, and of which no part has a line.
  struct NoLines {};
  JoinedText(std::string text, NoLines tag);

  // Views of the text point into this object.
  JoinedText(const JoinedText&) = delete;
  JoinedText& operator=(const JoinedText&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  // The line, counted from 1, in which `part` of text() begins in the original; 0 if there are no lines.
  [[nodiscard]] unsigned line_of(std::string_view part) const;

 private:
  std::string file_;
  std::vector<std::size_t> line_starts_;  // where the lines of the original begin in `text_`
  std::string text_;
};

}  // namespace cleave::kernels
