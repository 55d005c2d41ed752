// The options of a build that concern the files that a program includes: -I and -D.
//
// Drivers split options at blanks. They differ in what they make of quotes; here quotes are treated as in a shell.
//
// Thread-safe: pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::remote::client {

struct BuildOptions {
  struct Folder {
    std::string path;
    std::size_t at;  // where it begins in the options
  };
  std::vector<Folder> folders;           // of -I, in their order
  std::vector<std::string> definitions;  // of -D: NAME or NAME=text
};

BuildOptions read_build_options(std::string_view options);

}  // namespace cleave::remote::client
