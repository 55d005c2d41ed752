// What a program's build options say.
//
// Source: OpenCL 3.0, section 5.8.6 "Compiler options".
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::kernels {

// The build options as the text of a directive, so that the macro definitions in them are scanned like text.
// Drivers strip quotes and backslashes in different ways, so it holds the options with and without them.
std::string options_as_directive(std::string_view options);

// The operands of -I, and the names of the macros that are defined or undefined, without quotes.
struct Options {
  std::vector<std::string> folders;
  std::vector<std::string> macros;  // names only
  // Their definitions as after a #define; those of -U begin with "-".
  std::vector<std::string> definitions;
  // Of the macros, those that stand for one number whatever splits the options, and of these those that are 1 to 2^24.
  std::vector<std::string> numbers;
  std::vector<std::string> positive;
  std::vector<std::string> unknown;  // words that may do anything
  bool quotes = false;               // there are quotes or backslashes, which drivers treat in different ways
  bool cpp = false;                  // C++ for OpenCL, where functions are called without being named
};
Options parse_options(std::string_view options);

}  // namespace cleave::kernels
