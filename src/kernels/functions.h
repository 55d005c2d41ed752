// Takes the text of an OpenCL C program apart into its functions. See kernels/program_scan.h for what that
// rests on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::kernels {

// One whose head is of the simplest form: names and *, attributes, the function's name and its parameters in
// parentheses, attributes.
struct Function {
  std::string_view text;               // from behind what came before it to its closing brace
  std::string_view name;               // right if none of the head's names is a macro with signs in it
  std::vector<std::string_view> head;  // the names around it outside of parentheses
};

struct Functions {
  std::vector<Function> list;
  std::string declarations;  // what else there is outside of these functions
  std::string directives;    // wherever they stand, also within functions
  // Names, a blank between them, that may lead to a function from everywhere: those outside of these
  // functions' bodies, other than names that are declared there, and all of every other item with braces,
  // since it may be a function's.
  std::string outside_names;
};

// `text` has no line splices and must outlive the answer. Empty where the text cannot safely be taken apart.
// Thread-safe; may throw std::bad_alloc.
std::optional<Functions> split_functions(std::string_view text);

}  // namespace cleave::kernels
