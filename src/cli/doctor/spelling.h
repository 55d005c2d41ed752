// Finds misspelt environment variables, such as CLEAVE_VM for CLEAVE_VMS, which otherwise have no effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

// The edit distance between `a` and `b`: insertions, deletions, replacements, and swaps of adjacent letters.
std::size_t edit_distance(std::string_view a, std::string_view b);

struct Misspelt {
  std::string variable;    // as it is in the environment
  std::string suggestion;  // the setting that was probably meant; may be empty
};

// The CLEAVE_ variables in the environment that are not in `known`, which holds full names.
std::vector<Misspelt> misspelt_variables(const std::vector<std::string>& known);

}  // namespace cleave::cli
