// The daemon's command line. The only place that knows of CLI11.
#pragma once

#include <optional>
#include <span>

#include "monitor/options.h"

namespace cleave::monitor {

// Read where --config names no other file and this one is there.
inline constexpr const char* kDefaultFile = "/etc/cleave/monitord.toml";

// The options of the command line, and of the file that it names or kDefaultFile. Empty where it only asked
// for the help or the version, which has been printed. Throws OptionError.
std::optional<Options> read_command_line(std::span<const char* const> arguments);

}  // namespace cleave::monitor
