// Splits the text of an OpenCL C program into its functions. program_scan.h describes the assumptions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::kernels {

// A function whose head has the simplest form: names and *, attributes, the name and the parameters in
// parentheses, attributes.
struct Function {
  std::string_view text;  // from the end of the item before to the closing brace
  std::string_view name;  // valid if no name in the head is a macro that expands to more than names
  std::vector<std::string_view> head;  // the other names in the head, outside of parentheses
};

struct Functions {
  std::vector<Function> list;
  std::string declarations;  // the text outside of these functions
  std::string directives;    // all directives, including those within functions
  // Names, separated by blanks, through which any function may call others: those outside of function bodies,
  // except names that are declared there, and all names in other items with braces, which may be functions.
  std::string outside_names;
};

// `text` has no line splices and must outlive the result. Empty if the text cannot be split safely.
// Thread-safe; may throw std::bad_alloc.
std::optional<Functions> split_functions(std::string_view text);

}  // namespace cleave::kernels
