// The files of this machine that a program includes, to be sent to a server along with it.
//
// Files are searched where known drivers search them, in their order: next to the including file, in the current
// folder, in the folders of the options -I. The first file found is taken. Files behind a condition that does not hold
// are sent as well.
//
// On the server a file gets the path that it has here, below a folder that only the server knows. So the compiler finds
// there what it would have found here, and its options are the program's own with that folder in front of each path. Paths
// that are relative here begin with the current folder and kCurrentFolderMark, by which the server makes them relative again
// in the compiler's messages.
//
// Source: OpenCL 3.0 API, section 5.8.6.1; the search order and messages of PoCL 3.1 and NVIDIA's driver 580 were determined
// by experiment.
//
// Thread-safe. Reads files; may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::remote::client {

struct IncludedFiles {
  std::vector<std::string> names;    // absolute; one that ends in a slash is a folder
  std::vector<std::uint64_t> sizes;  // of each in `texts`
  std::string texts;
  std::vector<std::string> options;  // the options, split where the server's folder is inserted
  std::string problem;               // why a file is missing, for users

  [[nodiscard]] bool empty() const { return names.empty(); }
};

// Whether a failed build's log, of any known compiler, says that a file was not found. The search ignores conditions: what it has
// missed may have been of no interest to the compiler.
bool reports_missing_file(std::string_view log);

// `texts` are those of the program and of its header programs, `given` the names of the latter.
IncludedFiles find_included_files(const std::vector<std::string_view>& texts,
                                  const std::vector<std::string_view>& given, std::string_view options);

}  // namespace cleave::remote::client
