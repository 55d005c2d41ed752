// The texts of generated programs.
//
// A text is a list of pieces, and those that are not fixed can be left out by number: so a failing program is
// made smaller without changing anything else in it. Leaving out what another piece needs gives a program
// that does not build, which whoever makes it smaller has to notice.
//
// Every kernel has the same arguments (see arguments.h), gives the same result however its work-groups are
// ordered, and writes nowhere but into its buffers, whatever the built-in functions answer.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "random.h"

namespace fuzz {

using Sizes = std::array<std::size_t, 3>;

// What the platform takes.
struct Dialect {
  std::string standard;     // the option that names the newest language version, or nothing
  bool linear_ids = false;  // that version has get_global_linear_id and its like
  bool uneven = false;      // launches may end in a smaller work-group
  bool libraries = true;    // clCompileProgram and clLinkProgram work
  bool callbacks = true;    // event callbacks come as they should
  bool user_events = true;  // commands may wait for user events
  bool clones = true;       // clCloneKernel is there
  bool suggests = true;     // the driver says which local size it would choose
  bool talk = true;         // work-groups may exchange data through global memory
};

enum class Section { options, macros, functions, kernels };

struct Piece {
  Section section;
  std::string text;
  bool fixed = false;
  std::string prototype = {};  // for functions: what another translation unit needs to see
};

struct KernelSpec {
  std::string name;
  bool sees_groups = true;  // how the work-items are grouped makes a difference
  bool size_required = false;
  Sizes required = {1, 1, 1};
};

struct ProgramText {
  std::vector<Piece> pieces;
  std::vector<KernelSpec> kernels;

  void drop(const std::set<unsigned>& numbers);
  std::string section(Section wanted) const;
  std::string options() const { return section(Section::options); }
  std::string prototypes() const;
  std::string whole() const;
};

ProgramText write_program(Random random, const Dialect& dialect);

}  // namespace fuzz
