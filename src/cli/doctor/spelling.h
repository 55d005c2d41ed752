// Misspelt environment variables: nothing tells their users that CLEAVE_VM is not CLEAVE_VMS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

// Insertions, deletions, replacements and swaps of neighbouring letters that make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

struct Misspelt {
  std::string variable;    // as it is in the environment
  std::string suggestion;  // the setting that was probably meant, or empty
};

// The CLEAVE_ variables of the environment that are not in `known`, whole names.
std::vector<Misspelt> misspelt_variables(const std::vector<std::string>& known);

}  // namespace cleave::cli
