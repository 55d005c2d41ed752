// The preprocessor directives of a program's text that include files, found without compiling it. Every directive counts,
// whether or not its condition holds, since only a compiler can evaluate conditions.
//
// Thread-safe: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::remote::client {

struct Include {
  enum class Form : std::uint8_t { quoted, angled, macro };
  Form form;
  std::string name;              // of the file, or of the macro
  bool is_include_next = false;  // #include_next: not the first that is found

  bool operator==(const Include&) const = default;
};

// A macro without parameters. Its text may be the operand of an #include.
struct Definition {
  std::string name;
  std::string text;

  bool operator==(const Definition&) const = default;
};

struct Directives {
  std::vector<Include> includes;
  std::vector<Definition> definitions;
  bool fully_parsed = true;  // false: a file is named in a way that only a compiler can follow
};

Directives parse_directives(std::string_view text);

// The file or macro that a macro's text, or the rest of an #include, names. An empty name: none.
Include parse_operand(std::string_view text);

}  // namespace cleave::remote::client
