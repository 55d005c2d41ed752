// The texts of generated programs.
//
// A text is a list of pieces, and those that are not fixed can be dropped by number: so a failing program is reduced without
// changing anything else in it. Dropping a piece that another one needs gives a program that does not build, which shrink.py
// checks for.
//
// Every kernel has the same arguments (kernel_arguments.h), gives the same result in whatever order its work-groups run, and
// writes only into its buffers, whatever the built-in functions return.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "random.h"

namespace fuzz {

using Sizes = std::array<std::size_t, 3>;

// What the platform supports.
struct Capabilities {
  std::string standard;           // the option that names the newest language version, or nothing
  bool linear_ids = false;        // that version has get_global_linear_id and its like
  bool uneven = false;            // launches may end in a smaller work-group
  bool libraries = true;          // clCompileProgram and clLinkProgram work
  bool callbacks = true;          // event callbacks are called as specified
  bool user_events = true;        // commands may wait for user events
  bool clones = true;             // clCloneKernel is available
  bool known_local_sizes = true;  // Cleave knows the local size that the driver would choose
  bool communication = true;      // work-groups may exchange data through global memory
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
  bool depends_on_grouping = true;  // the result depends on the grouping of the work-items
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

ProgramText write_program(Random random, const Capabilities& capabilities);

}  // namespace fuzz
