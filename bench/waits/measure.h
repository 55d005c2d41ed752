// The measured program: plain OpenCL, independent of Cleave.
#pragma once

#include <cstddef>
#include <string>

namespace waits {

// Prints how many steps the kernel needs for `seconds` on the device of that platform.
void calibrate(const std::string& platform, double seconds);

// Waits for launches of so many steps in each of three ways. Prints a line for each: the way, seconds of wall
// time from the enqueue on, of this thread's processor time, and of the process's.
void costs(const std::string& platform, std::size_t steps, unsigned warm_up);

// Waits for launches of several lengths up to a tenth of `steps`. Prints a line for each: the launch's length
// in seconds, and by how much clFinish returned later than another thread, which polls all the time, saw the launch complete.
void lateness(const std::string& platform, std::size_t steps, unsigned repeats);

}  // namespace waits
