// The command line.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace fuzz {

struct Options {
  std::uint64_t seed = 1;
  unsigned first_program = 0;
  unsigned programs = 1;
  unsigned first_case = 0;
  unsigned cases = 20;               // for each program
  std::string platform;              // part of its name; the first one, if empty
  std::string folder = ".";          // for header files
  unsigned most_items = 2048;        // in one launch
  unsigned most_groups = 1U << 20U;  // in each dimension of a launch
  unsigned local_sizes = 3;          // for each program
  std::set<unsigned> dropped;        // pieces of the program's text
  std::set<unsigned> dropped_steps;  // steps of a sequence
  std::set<std::string> without;   // what the driver does not support: callbacks, user-events, libraries, ...
  bool known_local_sizes = false;  // the driver chooses local sizes by a rule that Cleave knows
  bool show = false;               // print texts and calls
};

// Ends the program if an option is invalid.
Options read_options(int count, char** words);

}  // namespace fuzz
