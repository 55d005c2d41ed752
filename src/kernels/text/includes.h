// Finds the texts that a program includes.
//
// Compilers search in different places, so every file that any of them could mean is taken: among the headers that
// the program passed to clCompileProgram, and for each name in the folders of the -I options, the current folder and
// the folder of the including file.
//
// Source: OpenCL 3.0 API, section 5.8.6.1 "Preprocessor options".
//
// Not thread-safe. Reads files; may throw std::bad_alloc.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/text/preprocess.h"

namespace cleave::kernels {

// A header in memory: its name and its text.
using Embedded = std::vector<std::pair<std::string, std::string>>;

class HeaderFiles final : public Headers {
 public:
  // The arguments must outlive this.
  HeaderFiles(const std::vector<std::string>& folders, const Embedded& embedded)
      : folders_(folders), embedded_(embedded) {}

  std::vector<std::string> find(const std::string& name, const std::string& file) override;
  std::string read(const std::string& file) override;

 private:
  bool is_file(const std::string& path);

  const std::vector<std::string>& folders_;
  const Embedded& embedded_;
  std::map<std::string, std::string> contents_;  // of the files that were found
  std::map<std::string, bool> known_;            // whether a path is a file
};

}  // namespace cleave::kernels
