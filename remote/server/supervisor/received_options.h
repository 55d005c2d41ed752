// The options that a process of the server gets from its supervisor (spawn.h).
//
// Not thread-safe: before there are threads.
#pragma once

#include "remote/server/options.h"

namespace cleave::remote::server {

// From the first message on standard input, which the supervisor has sent before it started this process. Throws OptionError if
// there is none: somebody else has started it with `argument`.
Options receive_options(const char* argument);

}  // namespace cleave::remote::server
