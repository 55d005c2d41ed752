// Which of two functions a call is for: the one for objects of one server, or the one for those of several.
#pragma once

#include <string_view>

#include "base/opencl.h"

namespace cleave::remote::client::multi_server {

// Puts functions that look at their object first in the place of those for objects of one server.
void install_overrides(Table& table);

}  // namespace cleave::remote::client::multi_server
