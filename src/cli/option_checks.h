// Light checks of option values, so that a slip of the pen is answered at once. The library checks the
// environment again, with the whole configuration at hand.
#pragma once

#include <string>

namespace cleave::cli {

// Each returns an empty text where `value` is well-formed, else what is wrong with it in one line.
std::string check_count(const std::string& value);    // a whole number from 1 on
std::string check_policy(const std::string& value);   // off, alpha, budget, quantum:MS, fixed:N
std::string check_launch(const std::string& value);   // auto, sequential, queued, pipelined
std::string check_wait(const std::string& value);     // auto, native, polite
std::string check_seconds(const std::string& value);  // a number from 0.1 to 3600
std::string check_remote(const std::string& value);   // addresses of servers, separated by commas
std::string check_file(const std::string& value);     // the path of a file that exists

}  // namespace cleave::cli
