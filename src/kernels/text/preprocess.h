// The parts of a program's texts that a compiler may compile: conditionals are evaluated, and includes followed, as far as
// that is certain for every compiler. Where a condition cannot be evaluated, all its branches count; where an include
// may mean several files, each of them is followed. In texts that compilers may read in different ways, in C++, and where
// conditionals are not balanced, everything counts.
//
// What is certain: definitions in the texts and in the build's options, and that no compiler defines the names for which
// predefined() says so.
//
// Source: C99 6.10 "Preprocessing directives"; OpenCL C 3.0, section 6.12.
//
// Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/joined_text.h"
#include "kernels/text/lexer.h"

namespace cleave::kernels {

// A text of the program. It must stay where it is, as its tokens are views.
struct SourceText {
  SourceText(std::string_view source, std::string file)
      : text(source, std::move(file)), tokens(tokens_of(text.text())) {}

  JoinedText text;
  Tokens tokens;  // all
  Tokens
      compiled;  // those in branches that may be compiled, without the directives of conditionals that are decided
  Tokens conditions;  // the #if and #elif of conditionals that are decided
};

// An #include that leads to no text, or perhaps not to the one that a compiler would take.
struct MissingInclude {
  bool named_by_macro = false;
  std::string name;  // or what stands for it
  std::string file;  // that has the #include; empty: the program's own text
  unsigned line = 0;
};

struct Preprocessed {
  std::deque<SourceText> texts;           // the program's own first
  std::optional<MissingInclude> missing;  // the first
};

// Where the preprocessor gets what is included.
class Headers {
 public:
  Headers() = default;
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  virtual ~Headers() = default;

  // The paths or names of all texts that an #include of `name` in the text `file` may mean. The same text always has the
  // same one; the program's own has the empty one.
  virtual std::vector<std::string> find(const std::string& name, const std::string& file) = 0;

  // A text that find() has named. Called once for each.
  virtual std::string read(const std::string& file) = 0;
};

struct PreprocessorInputs {
  std::string options;             // of the build
  std::string uncertain_options;   // that only some compilers get
  std::vector<std::string> given;  // texts that count entirely if nothing includes them, by their names
};

Preprocessed preprocess(std::string_view source, const PreprocessorInputs& inputs, Headers& headers);

}  // namespace cleave::kernels
