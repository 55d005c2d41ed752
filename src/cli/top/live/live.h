// The live screen of `cleave top`.
#pragma once

#include "cli/top/live/controls.h"
#include "cli/top/neighbour_probe.h"

namespace cleave::cli {

// Until the user leaves it, or a signal ends it. Returns the exit status: 0, or 2 with a line on standard error if the terminal
// is none for it.
int show_live(const ViewOptions& options, NeighbourProbe& neighbours);

}  // namespace cleave::cli
