// What a step's shards come to: the settings of Cleave that its processes get, as variables of their environment.
//
// Thread-safe: pure, but for find_libraries(), which looks at the disk. May throw std::bad_alloc.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "slurm/site.h"

namespace cleave::slurm {

inline constexpr const char* kDefaultRegistry = "/dev/shm/cleave";  // of CLEAVE_REGISTRY

// Cleave's libraries as programs load them.
struct Libraries {
  std::filesystem::path drop_in;  // libOpenCL.so.1
  std::filesystem::path stub;     // libOpenCL.so
  std::filesystem::path layer;
  std::string problem;  // names the one that is missing; empty if none is
};

// In `folder` as it is installed or built: in itself and in the folder "cleave" below it, or all in itself.
Libraries find_libraries(const std::filesystem::path& folder);

struct Step {
  std::string job;      // its number
  std::string name;     // of the step: "0", "batch", "interactive"
  unsigned shards = 0;  // on this node
  std::string folder;   // of the job's files that belong to its user; empty: none
};

// What the user has requested by options of srun, salloc or sbatch; empty: nothing.
struct Wishes {
  std::string cleave;    // "on" or "off"
  std::string priority;  // in the words of CLEAVE_PRIORITY
};

// The variable's value in the step's environment.
using Lookup = std::function<std::optional<std::string>(const char*)>;

struct Variable {
  std::string name;
  std::string value;
};

struct StepSettings {
  std::vector<Variable> variables;
  std::vector<std::string> notes;  // lines for the user: what of the wishes is not granted, and why
};

// No variables if the step has no shards, or the user does without.
StepSettings settings_of(const Site& site, const Libraries& libraries, const Step& step, const Wishes& wishes,
                         const Lookup& lookup);

}  // namespace cleave::slurm
