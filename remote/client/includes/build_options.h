// What of a program's build options is about the files that it includes.
//
// Drivers agree on words between blanks. What they make of quotes differs: they are taken here as a shell
// does.
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
