// Finds the text that a program includes, so that it can be scanned.
//
// Compilers differ in where they look, so every file that any of them could mean is taken: all headers that
// the program itself gave (clCompileProgram), and for each name the folders of the -I options, the current
// folder and that of the including file.
//
// Source: OpenCL 3.0 API, section 5.8.6.1 "Preprocessor options".
//
// Thread-safe. Reads files; may throw std::bad_alloc.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::kernels {

// A header that is no file: its name and its text.
using Embedded = std::vector<std::pair<std::string, std::string>>;

struct Included {
  std::vector<std::string> texts;
  bool complete = true;  // false if one was not found, or is named by a macro
};

Included find_includes(std::string_view source, const std::vector<std::string>& folders,
                       const Embedded& embedded);

}  // namespace cleave::kernels
