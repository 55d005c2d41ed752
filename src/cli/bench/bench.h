// `cleave bench`: starts the benchmark suite, which is written in Python.
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

// Replaces this process. Returns, with the exit status, only if that fails, after printing why on standard error.
int bench(const std::vector<std::string>& arguments);

}  // namespace cleave::cli
