// The options that a process of the server gets from its supervisor (supervisor/spawn.h), and its argument in place of options.
//
// Not thread-safe: before there are threads.
#pragma once

#include "remote/server/options/options.h"

namespace cleave::remote::server {

inline constexpr const char* kFrontArgument = "--front";
inline constexpr const char* kWorkerArgument = "--worker";
inline constexpr const char* kBrokerArgument = "--broker";

// From the first message on standard input, which the supervisor has sent before it started this process. Throws OptionError if
// there is none: somebody else has started it with `argument`.
Options receive_options(const char* argument);

}  // namespace cleave::remote::server
