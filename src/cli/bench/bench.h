// `cleave bench`: hands over to the suite, which is Python's, with the place of its programs and of the
// drop-in.
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

// Replaces this process. Returns the exit status only where that cannot be: says why on standard error.
int bench(const std::vector<std::string>& arguments);

}  // namespace cleave::cli
