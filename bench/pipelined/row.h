// One row of the table, measured in a process of its own: Cleave reads its settings once.
#pragma once

#include <cstddef>
#include <string>

namespace pipelined {

struct Request {
  std::string loader = "libOpenCL.so.1";
  std::string library;
  std::string platform;
  std::size_t work = 0;  // of kWorks
  int repeats = 9;
  bool small = false;
};

// Prints one line: "ratio ratio-with-event whole-ms wait-ms native-wait-ms slices queues-used identical
// device".
int measure_row(const Request& request);

}  // namespace pipelined
