// The two kinds of cases.
#pragma once

#include "construct.h"
#include "facts.h"
#include "options.h"
#include "platform.h"
#include "shape.h"

namespace fuzz {

// What all cases of one program share.
struct Setting {
  const Options& options;
  const Platform& platform;
  Built& built;
  const Shapes& shapes;
};

// One kernel, launched once, with or without a mistake in the call.
void launch_case(const Setting& setting, Random random, Facts& facts);

// Commands on several buffers, queues and contexts.
void sequence_case(const Setting& setting, Random random, Facts& facts);

}  // namespace fuzz
