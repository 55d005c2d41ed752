// The two kinds of cases.
#pragma once

#include "launch_shapes.h"
#include "observations.h"
#include "options.h"
#include "platform.h"
#include "program_builds.h"

namespace fuzz {

// What all cases of one program share.
struct Setting {
  const Options& options;
  const Platform& platform;
  BuiltProgram& built;
  const Shapes& shapes;
};

// One kernel, launched once, with or without a mistake in the call.
void launch_case(const Setting& setting, Random random, Observations& observations);

// Commands on several buffers, queues and contexts.
void sequence_case(const Setting& setting, Random random, Observations& observations);

}  // namespace fuzz
