// What is measured in one process: Cleave reads its settings once, so each set of them has a process of its
// own. Each function prints one line of JSON; times are in milliseconds. `native` goes through the loader,
// `cleave` through the drop-in and then the same loader and driver.
#pragma once

#include <cstddef>
#include <string>

namespace gpu {

struct Request {
  std::string loader = "libOpenCL.so.1";
  std::string library;   // the drop-in
  std::string platform;  // part of its name
  std::size_t work = 0;  // of kWorks
  int repeats = 9;
  int warm_up = 1;     // launches under Cleave that are not counted
  int waits = 8;       // launches during which a small kernel waits, 0: not measured
  bool small = false;  // sizes for a try on a processor
};

// One work natively and under Cleave, in turn; then how long a small kernel on another queue waits meanwhile.
// Returns 0 if the results are the same.
int measure_launches(const Request& request);

// `count` launches of next to nothing in a row and one wait, natively and under Cleave in turn.
int measure_stream(const Request& request, std::size_t count);

// Launches and waits for `seconds`, natively or under Cleave: something for others to be measured beside.
int keep_busy(const Request& request, bool native, double seconds);

// Turns of a loop by `threads` threads within `seconds`, and the processor time that they got.
int count_turns(unsigned threads, double seconds);

}  // namespace gpu
