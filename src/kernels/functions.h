// Takes the text of an OpenCL C program apart into its functions. See kernels/program_scan.h for what that
// rests on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::kernels {

struct Function {
  std::string_view text;  // from behind what came before it to its closing brace
  // What may be its name: every name before its opening brace that a parenthesis follows, at once or behind
  // closing ones, as in `int (f)(int)` or `int (*f(int))[4]`.
  std::vector<std::string_view> names;
};

struct Functions {
  std::vector<Function> list;
  std::string declarations;  // what else there is outside of functions
  std::string directives;    // wherever they stand, also within functions
  // Names, a blank between them, that may lead to a function from everywhere: those outside of functions'
  // bodies, other than names that are declared there, and those in bodies of which it is not known whose they
  // are.
  std::string leads;
};

// `text` has no line splices and must outlive the answer. Empty where the text cannot safely be taken apart.
// Thread-safe; may throw std::bad_alloc.
std::optional<Functions> functions_of(std::string_view text);

}  // namespace cleave::kernels
