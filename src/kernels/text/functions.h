// Splits the text of an OpenCL C program into its functions. program_scan.h describes the assumptions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

// A function whose head has the simplest form: names and *, attributes, the name and the parameters in
// parentheses, attributes.
struct Function {
  Tokens tokens;          // from the end of the item before to the closing brace
  std::string_view name;  // valid if no name in the head is a macro that expands to more than names
  std::vector<std::string_view> head;  // the other names in the head, outside of parentheses
};

struct Functions {
  std::vector<Function> list;
  Tokens declarations;              // what is outside of these functions
  Tokens directives;                // all directives but those, including those within functions
  std::vector<Tokens> definitions;  // each #define or #undef of a name, with the end of its line
  // Holds the names through which any function may call others: those outside of function bodies, except names
  // that are declared there, and all names in other items with braces, which may be functions.
  Tokens outside_names;
  bool ends_between_items = false;  // nothing at the end of the text belongs to what may follow
};

// `tokens` are those of a text without line splices. Empty if they cannot be split safely; a text that includes others, or
// is included, must do so between declarations. Thread-safe; may throw std::bad_alloc.
std::optional<Functions> split_functions(const Tokens& tokens);

}  // namespace cleave::kernels
