// The options of `cleave top`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/top/top.h"

namespace cleave::cli {

// `request` outlives the command line.
void add_top(CLI::App& app, TopRequest& request);

}  // namespace cleave::cli
