// Finds the texts that a program includes, so that they can be scanned.
//
// Compilers search in different places, so every file that any of them could mean is taken: all headers that
// the program passed to clCompileProgram, and for each name the files in the folders of the -I options, the
// current folder and the folder of the including file.
//
// Source: OpenCL 3.0 API, section 5.8.6.1 "Preprocessor options".
//
// Thread-safe. Reads files; may throw std::bad_alloc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cause.h"

namespace cleave::kernels {

// A header in memory: its name and its text.
using Embedded = std::vector<std::pair<std::string, std::string>>;

struct Included {
  std::vector<std::string> texts;
  std::vector<std::string> names;  // the path or name of each text
  bool complete = true;            // false if one was not found or its name is formed by a macro
  std::optional<Cause> missing;    // the first one of these
};

Included find_includes(std::string_view source, const std::vector<std::string>& folders,
                       const Embedded& embedded);

}  // namespace cleave::kernels
